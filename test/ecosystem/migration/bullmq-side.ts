/** BullMQ as tests drive it: workers in processes of their own, and how its jobs ended. */
import { createRequire } from 'node:module'
import { execa } from 'execa'
import { onTestFinished } from 'vitest'
import { until } from '../../fixtures/until.js'
import { packagesFolder, projectOf } from '../packages.js'
import { ownPrefix, type RedisClass } from '../redis.js'
import type { Ended, JobRequest } from './ended.js'

interface BullJob {
  readonly id: string
  readonly attemptsMade: number
  readonly stalledCounter: number
  readonly returnvalue: unknown
  readonly failedReason: string | undefined
  getState(): Promise<string>
}

interface BullQueue {
  addBulk(jobs: readonly { name: string; data: unknown; opts: object }[]): Promise<BullJob[]>
  getJob(id: string): Promise<BullJob>
  close(): Promise<void>
}

interface BullFlow {
  add(flow: object): Promise<{ job: BullJob }>
  close(): Promise<void>
}

interface BullMQ {
  readonly Queue: new (name: string, options: object) => BullQueue
  readonly FlowProducer: new (options: object) => BullFlow
}

const WORKER = `import { Worker } from 'bullmq'
const { processor, isFile, options } = JSON.parse(process.argv[2])
const url = new URL(processor, import.meta.url)
const worker = new Worker('jobs', isFile ? url : (await import(url.href)).default, options)
await worker.waitUntilReady()
process.once('SIGTERM', async () => {
  await worker.close()
  process.exit()
})
console.log('ready')
`

/** A queue of BullMQ in a project with these files. Packages are installed. */
export const bullmqSide = async (files: Readonly<Record<string, string>>) => {
  const load = createRequire(packagesFolder)
  const { Queue, FlowProducer } = load('bullmq') as BullMQ
  const { Redis } = load('ioredis') as { Redis: RedisClass }
  const options = ownPrefix(Redis)
  const { folder } = await projectOf(['bullmq', 'ioredis'], { ...files, 'worker.js': WORKER })
  const queue = new Queue('jobs', options)
  onTestFinished(() => queue.close())

  /** A process with one worker. `isFile`: the processor is a file, a sandbox. */
  const work = async (processor: string, more: { readonly isFile?: boolean; readonly concurrency?: number; readonly [option: string]: unknown } = {}) => {
    const { isFile = false, ...rest } = more
    const given = JSON.stringify({ processor, isFile, options: { ...options, ...rest } })
    const child = execa(process.execPath, ['worker.js', given], { cwd: folder, all: true, reject: false, buffer: false, stdin: 'ignore' })
    let said = ''
    child.all.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    onTestFinished(async () => {
      child.kill('SIGTERM')
      await child
    })
    await until('the worker of BullMQ is ready', () => {
      if (child.exitCode !== null) throw new Error(`the worker of BullMQ has ended: ${said}`)
      return said.includes('ready')
    })
    // In an object: a subprocess of execa is a promise.
    return { ended: child.then(() => {}) }
  }

  const endOf = async ({ id }: BullJob): Promise<Ended> => {
    const state = await until(`job ${id} of BullMQ ends`, async () => {
      const now = await (await queue.getJob(id)).getState()
      return now === 'completed' || now === 'failed' ? now : undefined
    })
    const { attemptsMade, stalledCounter, returnvalue, failedReason } = await queue.getJob(id)
    const end = state === 'completed' ? { value: returnvalue } : { reason: failedReason ?? '' }
    return { state, attempts: attemptsMade, losses: stalledCounter, ...end }
  }

  const run = async (jobs: readonly JobRequest[]): Promise<Ended[]> => {
    const requests = jobs.map(({ name, data, attempts }) => ({
      name,
      data,
      opts: attempts === undefined ? {} : { attempts, backoff: { type: 'fixed', delay: 50 } },
    }))
    return await Promise.all((await queue.addBulk(requests)).map(endOf))
  }

  /** A parent, and children that fail it when they fail. */
  const runFlow = async (name: string, children: readonly JobRequest[]): Promise<Ended> => {
    const flows = new FlowProducer(options)
    onTestFinished(() => flows.close())
    const below = children.map((child) => ({ queueName: 'jobs', ...child, opts: { failParentOnFailure: true } }))
    return await endOf((await flows.add({ name, queueName: 'jobs', data: {}, children: below })).job)
  }

  return { folder, prefix: options.prefix, work, run, runFlow }
}
