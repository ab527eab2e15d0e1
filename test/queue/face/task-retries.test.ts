/** A task decides about its retries: by the errors that it throws, and by the options of defineTask. In every store. */
import { createQueue, createWorker, type FarmNode, type JobDetails, type Queue, type WorkerOptions } from 'prefork/queue'
import { describe, expect, it, onTestFinished } from 'vitest'
import { testLogger } from '../../fixtures/nodes.js'
import { fixture } from '../../fixtures/pools.js'
import { Journal, until } from '../../fixtures/support.js'
import { hasSqlite, StoreFile } from '../store/sqlite/files.js'

let stores = 0
const STORES = {
  memory: (): string => `memory:task-retries-${++stores}`,
  sqlite: (): string => {
    const file = new StoreFile()
    onTestFinished(() => file.remove())
    return `sqlite:${file.path}`
  },
}

const OPTIONS = { tasks: fixture('retry-tasks.js'), minWorkers: 1, maxWorkers: 1, backoff: { kind: 'fixed', delay: 1 } } as const

describe.each(['memory', 'sqlite'] as const)('in the store %s', (kind) => {
  const test = it.skipIf(kind === 'sqlite' && !hasSqlite)

  const open = async (options: Partial<WorkerOptions> = {}): Promise<{ queue: Queue; node: FarmNode }> => {
    const store = STORES[kind]()
    const queue = await createQueue({ store })
    onTestFinished(() => queue.close())
    const node = await createWorker({ ...OPTIONS, store, ...options })
    onTestFinished(async () => void (await node.shutdown({ grace: 0 })))
    return { queue, node }
  }
  const ended = async (queue: Queue, id: string): Promise<JobDetails> =>
    await until('the job has ended', async () => {
      const details = await (await queue.job(id))?.details()
      return details?.endedAt === undefined ? undefined : details
    })

  test('an error that says so makes its job fail at once, an error with such a cause does not', async () => {
    const { queue } = await open({ maxAttempts: 2 })
    const attempts: Record<string, string[]> = {}
    for (const thrown of ['final', 'subclass', 'bullmq', 'cause', 'bullmq as cause', 'plain']) {
      const journal = new Journal()
      const job = await queue.add('throwIn', [journal.path, thrown])
      const details = await ended(queue, job.id)
      attempts[thrown] = journal.lines
      expect(details).toMatchObject({ state: 'failed', reason: 'failed', counts: { attempt: journal.lines.length } })
      expect(details.history).toHaveLength(journal.lines.length)
    }
    const once = ['1']
    const twice = ['1', '2']
    expect(attempts).toEqual({ final: once, subclass: once, bullmq: once, cause: twice, 'bullmq as cause': twice, plain: twice })
  })

  test('its error is the one of the dead letter', async () => {
    const { queue } = await open()
    const job = await queue.add('throwOnce', ['subclass'])
    await expect(job.result()).rejects.toMatchObject({ name: 'NoSuchCustomer', message: 'there is no customer 7', code: 'ERR_PREFORK_NON_RETRYABLE' })
    expect(await job.details()).toMatchObject({
      error: { name: 'NoSuchCustomer' },
      history: [{ outcome: 'failed', error: 'NoSuchCustomer: there is no customer 7' }],
    })
  })

  test('RetryAfterError says when the next attempt is, which counts as any', async () => {
    const { queue, node } = await open({ backoff: { kind: 'fixed', delay: 3_600_000 } })
    const job = await queue.add('throwOnce', ['later', 5])
    expect(await job.result()).toBe(2)
    expect(await job.details()).toMatchObject({ counts: { attempt: 2 }, history: [{ outcome: 'failed', error: 'RetryAfterError: busy' }] })
    const events: unknown[] = []
    node.onEvent((event) => {
      if (event.type === 'task.retried') events.push(event.delay)
    })
    const before = Date.now()
    const late = await queue.add('throwOnce', ['later, a subclass', 100_000_000_000])
    await until('it is delayed', async () => (await late.state()) === 'delayed')
    expect((await late.details())!.runAt).toBeGreaterThanOrEqual(before + 100_000_000_000)
    expect(events).toEqual([100_000_000_000])
    const last = await queue.add('throwOnce', ['later', 5], { maxAttempts: 1 })
    expect(await ended(queue, last.id)).toMatchObject({ state: 'failed', reason: 'failed', error: { name: 'RetryAfterError' } })
  })

  test('a delay that the store cannot wait is cut, with a warning', async () => {
    const { logger, lines } = testLogger()
    const { queue } = await open({ logger })
    const job = await queue.add('throwOnce', ['later', 1e300])
    await until('it is delayed', async () => (await job.state()) === 'delayed')
    expect((await job.details())!.runAt).toBeLessThan(1.1e15)
    expect(lines.filter(({ wanted }) => wanted === 1e300)).toMatchObject([{ level: 'warn', job: job.id, task: 'throwOnce', delay: 1e15 }])
  })

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, '5', undefined])('a delay of %s is a TypeError of the task', async (delay) => {
    const { queue } = await open({ maxAttempts: 1 })
    const job = await queue.add('throwOnce', ['later', delay])
    expect((await ended(queue, job.id)).error).toMatchObject({
      name: 'TypeError',
      message: expect.stringMatching(/^new RetryAfterError\(message, \{ delay \}\): 'delay' must be/),
    })
  })

  test('a job beats taskDefaults, these beat defineTask, which beats the node', async () => {
    const after = { kind: 'fixed', delay: 3 } as const
    const delays = async (options: Partial<WorkerOptions>, ofJob: object = {}, task = 'ofTask'): Promise<number[]> => {
      const { queue, node } = await open({ maxAttempts: 5, ...options })
      const seen: number[] = []
      node.onEvent((event) => {
        if (event.type === 'task.retried') seen.push(event.delay)
      })
      await ended(queue, (await queue.add(task, task === 'ofTask' ? [] : [new Journal().path, 'plain'], ofJob)).id)
      return seen
    }
    expect(await delays({}, {}, 'throwIn')).toEqual([1, 1, 1, 1])
    expect(await delays({})).toEqual([7])
    expect(await delays({ taskDefaults: { ofTask: { maxAttempts: 3 } } })).toEqual([7, 7])
    expect(await delays({ taskDefaults: { ofTask: { backoff: after } } })).toEqual([3])
    expect(await delays({ taskDefaults: { ofTask: { maxAttempts: 3, backoff: after } } }, { maxAttempts: 4, backoff: { kind: 'fixed', delay: 2 } })).toEqual([
      2, 2, 2,
    ])
  })
})

it('a task that is found by its path has its options, too', async () => {
  const store = STORES.memory()
  const queue = await createQueue({ store })
  onTestFinished(() => queue.close())
  const root = new URL('.', fixture('retry-tasks.js'))
  const { tasks: _, ...options } = OPTIONS
  const node = await createWorker({ ...options, store, roots: [root.pathname] })
  onTestFinished(async () => void (await node.shutdown({ grace: 0 })))
  const job = await queue.add('retry-tasks#ofTask', [])
  await expect(job.result()).rejects.toThrow('it failed')
  expect(await job.details()).toMatchObject({ counts: { attempt: 2 }, history: [{}, {}] })
})
