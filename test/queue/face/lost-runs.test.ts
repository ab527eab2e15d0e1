/** Runs that ended with their worker or their node are in the history of a job, however the job ends: in every store. */
import { createQueue, createWorker, type FarmNode, type JobDetails, type Queue, type WorkerOptions } from 'prefork/queue'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fixture } from '../../fixtures/pools.js'
import { Journal, Latch, until } from '../../fixtures/support.js'
import { hasSqlite, StoreFile } from '../store/sqlite/files.js'

let stores = 0
const STORES = {
  memory: (): string => `memory:lost-runs-${++stores}`,
  sqlite: (): string => {
    const file = new StoreFile()
    onTestFinished(() => file.remove())
    return `sqlite:${file.path}`
  },
}

const OPTIONS = { tasks: fixture('retry-tasks.js'), name: 'node-1', minWorkers: 1, maxWorkers: 1, backoff: { kind: 'fixed', delay: 1 } } as const

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

  test('a job that lost a run and then succeeded says so, with the reason', async () => {
    const { queue, node } = await open()
    const job = await queue.add('dieOnce', ['value'])
    expect(await job.result()).toBe('value')
    expect(await job.details()).toMatchObject({
      state: 'completed',
      counts: { attempt: 1, losses: 1, requeues: 0 },
      history: [
        { attempt: 1, at: expect.any(Number), node: 'node-1', outcome: 'lost', error: expect.stringMatching(/^ended with worker \d+: killed by SIGSEGV$/) },
      ],
    })
    expect(node.snapshot().tasks).toMatchObject([{ status: 'success', counts: { losses: 1 }, attempts: [{ outcome: 'lost' }] }])
  })

  test('a job that lost none has no history', async () => {
    const { queue } = await open()
    const job = await queue.add('echo', [1])
    await job.result()
    expect(await job.details()).toMatchObject({ counts: { attempt: 1, losses: 0, requeues: 0 }, history: [] })
  })

  test('names the neighbour whose time limit ended the worker', async () => {
    const { queue } = await open({ concurrency: 2 })
    const journal = new Journal()
    const victim = await queue.add('waitForDeath', [journal.path, 'victim'])
    const culprit = await queue.add('spinBeside', [journal.path, 'culprit'], { id: 'abc', timeLimit: 300, maxAttempts: 1 })
    expect(await victim.result()).toBe(2)
    expect(await victim.details()).toMatchObject({
      state: 'completed',
      counts: { losses: 1 },
      history: [{ outcome: 'lost', error: expect.stringMatching(/^ended with worker \d+: time limit of job 'abc' \(task 'spinBeside'\)$/) }],
    })
    expect(await ended(queue, culprit.id)).toMatchObject({ state: 'failed', counts: { losses: 0 }, history: [{ outcome: 'hard_timeout' }] })
  })

  test('a job that lost a run and then failed, or was lost too often, has all of them', async () => {
    const { queue } = await open({ maxLosses: 2 })
    const failed = await queue.add('dieOnceThenThrow', ['plain'], { maxAttempts: 1 })
    expect(await ended(queue, failed.id)).toMatchObject({
      state: 'failed',
      counts: { losses: 1 },
      history: [
        { outcome: 'lost', error: expect.stringContaining('SIGSEGV') },
        { outcome: 'failed', error: 'Error: it failed' },
      ],
    })
    const lost = await queue.add('dieOnce', [1], { retryLost: 0 })
    expect(await ended(queue, lost.id)).toMatchObject({
      state: 'failed',
      reason: 'lost',
      counts: { losses: 1 },
      history: [{ outcome: 'lost', error: expect.stringMatching(/^ended with worker \d+: killed by SIGSEGV$/) }],
    })
  })

  test('a job that is cancelled while it runs again has the run that it lost before', async () => {
    const { queue, node } = await open({ concurrency: 2 })
    const [journal, latch] = [new Journal(), new Latch()]
    const job = await queue.add('waitForDeath', [journal.path, 'a', latch.path])
    await journal.seen('a1')
    process.kill(node.stats().workers[0]!.pid!, 'SIGKILL')
    await journal.seen('a2')
    expect(await job.cancel()).toBe(true)
    expect(await ended(queue, job.id)).toMatchObject({
      state: 'cancelled',
      counts: { losses: 1 },
      history: [{ outcome: 'lost', error: expect.stringContaining('SIGKILL') }],
    })
  })

  test('a job that runs again shows the run that it lost, and has it when its node shuts down', async () => {
    const { queue, node } = await open()
    const [journal, latch] = [new Journal(), new Latch()]
    const job = await queue.add('waitForDeath', [journal.path, 'a', latch.path])
    await journal.seen('a1')
    process.kill(node.stats().workers[0]!.pid!, 'SIGKILL')
    await journal.seen('a2')
    await until('it is stored', async () => (await job.details())!.history.length === 1)
    expect(await job.details()).toMatchObject({
      state: 'active',
      counts: { losses: 1 },
      history: [{ outcome: 'lost', error: expect.stringContaining('SIGKILL') }],
    })
    await node.shutdown({ grace: 0 })
    expect(await job.details()).toMatchObject({
      state: 'waiting',
      counts: { attempt: 1, losses: 2 },
      history: [{ error: expect.stringContaining('SIGKILL') }, { outcome: 'lost', error: expect.stringContaining('shut down') }],
    })
  })
})
