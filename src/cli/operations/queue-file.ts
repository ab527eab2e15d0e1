import { statSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import type { Queue, QueueJob } from '../../queue/index.js'
import { withTimeout } from '../../util/with-timeout.js'
import { CommandError, EXIT, UsageError } from '../exit.js'
import type { DeadLetter, Farm, FarmPublisher, PublishOptions, UnfinishedJob } from '../farm.js'
import { brokerKind, storePath } from '../settings/address.js'
import type { BrokerSettings } from '../settings/broker.js'

const library = () => import('../../queue/index.js')

const DEAD = ['failed', 'expired'] as const

/** A misspelt path would make an empty file. */
const checkThere = (url: string): void => {
  const path = storePath(url)
  if (path !== undefined && statSync(path, { throwIfNoEntry: false }) === undefined)
    throw new CommandError(`There is no file ${path}: prefork work and prefork publish make it.`, EXIT.broker)
}

/** Bounds the opening of a file by `timeout`, ms: the library waits for as long as it is locked. */
const opened = (opening: Promise<Queue>, url: string, timeout: number): Promise<Queue> =>
  withTimeout(opening, timeout, (): Queue => {
    throw new CommandError(`The queue at ${url} cannot be opened within ${timeout / 1_000} s. Is its file locked by another program?`, EXIT.broker)
  })

const withQueue = async <T>(url: string, queue: string, use: (queue: Queue) => Promise<T>): Promise<T> => {
  checkThere(url)
  const { createQueue } = await library()
  const open = await createQueue({ store: url, queue })
  try {
    return await use(open)
  } finally {
    await open.close()
  }
}

const addOptions = ({ correlationId, ...options }: PublishOptions): Omit<PublishOptions, 'correlationId'> => {
  if (correlationId !== undefined) throw new UsageError('--correlation-id is for RabbitMQ: leave it out for a queue in a file.')
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

/** ms that a look at a job may take when the time for its result is over: its file may be locked. */
const LOOK_TIMEOUT = 400

const unfinishedJob = async (job: QueueJob): Promise<UnfinishedJob | undefined> => {
  const details = await job.details().catch(() => undefined)
  if (details === undefined) return undefined
  const { id, state, error } = details
  return { id, state, error: error === undefined ? undefined : `${error.name}: ${error.message}` }
}

const publisherOf = (queue: Queue, isRemote: (error: unknown) => error is Error): FarmPublisher => ({
  publish: async (name, args, options) => (await queue.add(name, [...args], addOptions(options))).id,
  async call(name, args, { timeout, ...options }) {
    const ends = performance.now() + timeout
    const job = await queue.add(name, [...args], addOptions(options))
    try {
      return { kind: 'result', value: await job.result({ timeout: Math.max(1, ends - performance.now()) }) }
    } catch (error) {
      if (isRemote(error)) return { kind: 'failed', error }
      if ((error as { code?: unknown }).code === 'ERR_PREFORK_RESULT_TIMEOUT')
        return { kind: 'timeout', job: await withTimeout(unfinishedJob(job), LOOK_TIMEOUT, () => undefined) }
      throw error
    }
  },
  close: () => queue.close(),
})

const deadLetterOf = async (queue: Queue, id: string): Promise<DeadLetter | undefined> => {
  const job = await (await queue.job(id))?.details()
  if (job === undefined) return undefined
  const { task, args, reason = '', error, endedAt: at, node, counts, history: attempts } = job
  const text = error === undefined ? '' : `${error.name}: ${error.message}`
  return { id, task, args, queue: queue.name, reason, error: text, at, node, stack: error?.stack, attempts, ...counts }
}

/** A queue in a file, over `prefork/queue`. */
export const queueFarm: Farm = {
  async createNode({ url, queues }, options) {
    const { createWorker } = await library()
    return await createWorker({ ...options, store: url, queues })
  },

  async createPublisher({ url, queues }, { timeout }) {
    const { createQueue, RemoteError } = await library()
    const queue = await opened(createQueue({ store: url, queue: queues[0]! }), url, timeout)
    return publisherOf(queue, (error) => error instanceof RemoteError)
  },

  async createControlClient({ url }) {
    checkThere(url)
    return await (await library()).createControlClient({ store: url })
  },

  listDeadLetters: ({ url }, name, { limit }) =>
    withQueue(url, name, async (queue) => {
      const letters: DeadLetter[] = []
      let after: number | undefined
      while (letters.length < limit) {
        const page = await queue.jobs({ states: DEAD, limit: Math.min(1_000, limit - letters.length), ...(after === undefined ? undefined : { after }) })
        if (page.length === 0) break
        after = page.at(-1)!.seq
        for (const { id } of page) {
          const letter = await deadLetterOf(queue, id)
          if (letter !== undefined) letters.push(letter)
        }
      }
      return letters
    }),

  retryDeadLetters: ({ url }, name, { ids }) =>
    withQueue(url, name, async (queue) => (await queue.retry(ids === undefined ? { states: DEAD } : { states: DEAD, ids })).length),

  purge: ({ url }, name, { dead }) =>
    withQueue(url, name, async (queue) => (dead ? (await queue.remove({ states: DEAD })).length : await queue.drain({ delayed: true }))),

  withQueue: ({ url }, name, use) => withQueue(url, name, use),
}

/** The farm behind an address. */
export const farmOf = async ({ url }: BrokerSettings): Promise<Farm> => {
  const kind = brokerKind(url)
  if (kind === 'RabbitMQ') return (await import('./amqp.js')).amqpFarm
  return kind === 'Faktory' ? (await import('./faktory.js')).faktoryFarm : queueFarm
}
