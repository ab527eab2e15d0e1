/** Jobs from `add` to their end, with a node of real workers on a memory store. */
import { createQueue, createWorker, type FarmNode, type Queue, RemoteError } from 'prefork/queue'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { fixture } from '../../fixtures/pools.js'
import { Journal, Latch, until } from '../../fixtures/support.js'

const STORE = 'memory:run'
const QUEUES = ['jobs', 'other', 'limited', 'paused', 'ticks']

const open = async (queue = 'jobs'): Promise<Queue> => {
  const opened = await createQueue({ store: STORE, queue })
  onTestFinished(() => opened.close())
  return opened
}

/** The events of one job, in their order, without those that its claims depend on. */
const eventsOf = (queue: Queue, id: string): string[] => {
  const told: string[] = []
  for (const name of ['completed', 'failed', 'retrying', 'cancelled', 'expired', 'stalled'] as const)
    queue.on(name, (event) => {
      if (event.id === id) told.push(name)
    })
  return told
}

describe('a node', () => {
  let node: FarmNode
  beforeAll(async () => {
    node = await createWorker({
      store: STORE,
      queues: QUEUES,
      tasks: fixture('farm-tasks.js'),
      minWorkers: 2,
      maxWorkers: 2,
      prefetchPerWorker: 1,
      backoff: { kind: 'fixed', delay: 5 },
      maxLosses: 2,
      maxResultSize: 800_000,
    })
  })
  afterAll(async () => {
    await node.shutdown({ grace: 0 })
  })

  it('runs a job, and any handle gives its result', async () => {
    const queue = await open()
    const job = await queue.add('echo', [{ of: [1, new Date(0), Buffer.from('x')] }])
    const value = { of: [1, new Date(0), Buffer.from('x')] }
    expect(await job.result()).toEqual(value)
    const another = await open()
    expect(await (await another.job(job.id))!.result()).toEqual(value)
    expect(await job.details()).toMatchObject({ state: 'completed', task: 'echo', args: [value], counts: { attempt: 1 } })
  })

  it('gives the task its context and how it was delivered', async () => {
    const queue = await open()
    const job = await queue.add('shown', [], { id: 'shown', context: { user: 7 } })
    expect(await job.result()).toMatchObject({ id: 'shown', context: { user: 7 }, delivery: { attempt: 1, losses: 0, queue: 'jobs' } })
  })

  it('tries a failing job again, then fails it', async () => {
    const queue = await open()
    const told = eventsOf(queue, 'fails')
    const job = await queue.add('fail', ['no luck'], { id: 'fails', maxAttempts: 3, backoff: { kind: 'fixed', delay: 10 } })
    const error = await job.result().catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(RemoteError)
    expect(error).toMatchObject({ message: 'no luck', code: 'E_FAIL' })
    expect(await job.details()).toMatchObject({
      state: 'failed',
      reason: 'failed',
      counts: { attempt: 3 },
      history: [{ attempt: 1 }, { attempt: 2 }, { attempt: 3 }],
    })
    await until('all is told', () => told.length === 3)
    expect(told).toEqual(['retrying', 'retrying', 'failed'])
  })

  it('tries a failed job again when it is asked to', async () => {
    const queue = await open()
    const job = await queue.add('fail', [], { maxAttempts: 1 })
    await job.result().catch(() => {})
    expect(await job.retry()).toBe(true)
    await until('it has failed again', async () => (await job.details())!.history.length === 2)
    expect(await job.result().catch((error: Error) => error.message)).toBe('it failed')
  })

  it('succeeds at a later attempt, and the waiting result is that of it', async () => {
    const queue = await open()
    expect(await (await queue.add('failUntil', [3])).result()).toBe(3)
  })

  it('says in the result that it could not be stored', async () => {
    const queue = await open()
    const large = await queue.add('echo', ['x'.repeat(700_000)])
    expect(await large.result()).toHaveLength(700_000)
    const wrong = await queue.add('unsendable', [])
    await expect(wrong.result()).rejects.toMatchObject({ name: 'SerializationError' })
    expect(await wrong.state()).toBe('completed')
    const tooLarge = await queue.add('echo', ['x'.repeat(900_000)])
    await expect(tooLarge.result()).rejects.toThrow(/maxResultSize is 800000/)
  })

  it('says that a generator is no task of a job, and does not try it again', async () => {
    const queue = await open()
    const job = await queue.add('letters', [])
    await expect(job.result()).rejects.toMatchObject({
      code: 'ERR_PREFORK_STREAM',
      message: "The task 'letters' is a generator, and the task of a job cannot be one: let it return its values, or report them by currentJob().progress().",
    })
    expect(await job.details()).toMatchObject({ state: 'failed', reason: 'refused', counts: { attempt: 1 } })
  })

  it('says in the error of a task which progress value was wrong, and what one may be', async () => {
    const queue = await open()
    const job = await queue.add('reportWrongProgress', ['function'], { maxAttempts: 1 })
    await expect(job.result()).rejects.toThrow(
      'currentJob().progress() takes data, such as 0.5 or { done: 5, of: 10 }, and cannot send this value: progress is a function.',
    )
  })

  it('ends a busy loop that is cancelled, and nothing beside it', async () => {
    const queue = await open()
    const [journal, latch] = [new Journal(), new Latch()]
    const told = eventsOf(queue, 'spins')
    const neighbour = await queue.add('hold', [latch.path, journal.path, 'neighbour'])
    const job = await queue.add('spinThenMark', [journal.path, 'spins'], { id: 'spins' })
    const dependent = await queue.add('mark', [journal.path, 'dependent'], { dependsOn: ['spins'] })
    await journal.seen('+spins')
    expect(await queue.cancel('spins')).toEqual(['spins'])
    await expect(job.result()).rejects.toMatchObject({ code: 'ERR_PREFORK_CANCELLED' })
    await expect(dependent.result()).rejects.toMatchObject({ code: 'ERR_PREFORK_DEPENDENCY' })
    expect(await neighbour.state()).toBe('active')
    latch.open()
    await neighbour.result()
    expect(await job.details()).toMatchObject({ state: 'cancelled', reason: 'cancelled' })
    expect(told).toEqual(['cancelled'])
    expect(journal.lines).not.toContain('+dependent')
    // It can be tried again on the same node.
    await queue.retry('spins')
    await until('it runs again', () => journal.lines.filter((line) => line === '+spins').length === 2)
    await queue.cancel('spins')
    await until('it is cancelled again', async () => (await job.state()) === 'cancelled')
  })

  it('does not run what is cancelled before', async () => {
    const queue = await open()
    const journal = new Journal()
    const job = await queue.add('mark', [journal.path, 'x'], { delay: 60_000 })
    expect(await job.cancel()).toBe(true)
    expect(await job.cancel()).toBe(false)
    await expect(job.result()).rejects.toMatchObject({ code: 'ERR_PREFORK_CANCELLED' })
    expect(journal.lines).toEqual([])
  })

  it('expires a job that has not begun in time', async () => {
    const queue = await open('paused')
    await queue.pause()
    const journal = new Journal()
    const job = await queue.add('mark', [journal.path, 'x'], { ttl: 20 })
    await expect(job.result()).rejects.toMatchObject({ code: 'ERR_PREFORK_EXPIRED' })
    await queue.resume()
    expect(await job.state()).toBe('expired')
    expect(journal.lines).toEqual([])
  })

  it('runs nothing of a paused queue until it is resumed', async () => {
    const queue = await open('paused')
    await queue.pause()
    expect(await queue.settings()).toEqual({ paused: true, rate: null })
    const job = await queue.add('echo', [1])
    await (await (await open()).add('echo', [2])).result()
    expect(await job.state()).toBe('waiting')
    await queue.resume()
    expect(await job.result()).toBe(1)
  })

  it('gives back what it has claimed and not begun when the queue is paused, and goes on with other queues', async () => {
    const own = await createWorker({
      store: STORE,
      queues: ['held', 'beside'],
      tasks: fixture('farm-tasks.js'),
      maxWorkers: 1,
      prefetchPerWorker: 6,
      concurrency: 2,
    })
    onTestFinished(async () => void (await own.shutdown({ grace: 0 })))
    const [queue, beside] = [await open('held'), await open('beside')]
    const journal = new Journal()
    // Jobs of a task that was never measured are not claimed ahead.
    const opened = new Latch()
    opened.open()
    await (await queue.add('hold', [opened.path, new Journal().path, 0])).result()
    await queue.clean()
    const latch = new Latch()
    const jobs = await queue.addBulk(Array.from({ length: 5 }, (_, n) => ({ task: 'hold', args: [latch.path, journal.path, n] })))
    await until('two run and three wait in the node', async () => journal.lines.length === 2 && (await queue.counts()).active === 5)
    await queue.pause()
    await until('three are back', async () => (await queue.counts()).waiting === 3)
    expect(await queue.counts()).toMatchObject({ active: 2 })
    latch.open()
    expect(await (await beside.add('echo', [1])).result()).toBe(1)
    await until('what ran has ended', async () => (await queue.counts()).completed === 2)
    expect(journal.lines).toHaveLength(4)
    await queue.resume()
    await Promise.all(jobs.map((job) => job.result()))
    expect((await queue.jobs()).map(({ counts }) => counts)).toEqual(Array(5).fill({ attempt: 1, losses: 0, requeues: 0 }))
  })

  it('runs the most urgent first', async () => {
    const queue = await open('paused')
    const journal = new Journal()
    await queue.pause()
    const latch = new Latch()
    const jobs = await queue.addBulk([1, 9, 5].map((priority) => ({ task: 'hold', args: [latch.path, journal.path, priority], options: { priority } })))
    await queue.resume()
    // Two at a time, and neither ends before both have begun.
    await until('two run', () => journal.lines.length === 2)
    expect(journal.lines.sort()).toEqual(['+5', '+9'])
    latch.open()
    await Promise.all(jobs.map((job) => job.result()))
  })

  it('gives a parent the results of its children', async () => {
    const queue = await open()
    const child = (id: string, children: object[] = []): never => ({ task: 'echo', args: [`of ${id}`], options: { id }, children }) as never
    const root = await queue.addFlow({ task: 'deliveredResults', args: [], children: [child('left', [child('leaf')]), child('right')] })
    expect(await root.result()).toEqual({ left: 'of left', right: 'of right' })
  })

  it('runs a parent whose child has failed, if it is told to', async () => {
    const queue = await open()
    const children = [
      { task: 'fail', args: [], options: { maxAttempts: 1 } },
      { task: 'echo', args: ['well'], options: { id: 'well' } },
    ]
    const root = await queue.addFlow({ task: 'deliveredResults', args: [], options: { onFailedDependency: 'run' }, children })
    expect(await root.result()).toEqual({ well: 'well' })
  })

  it('keeps to the rate of a queue while others go on', async () => {
    const queue = await open('limited')
    await queue.limit('1/h')
    const [first, second] = await queue.addBulk([1, 2].map((value) => ({ task: 'echo', args: [value] })))
    expect(await first!.result()).toBe(1)
    await (await (await open()).add('echo', [3])).result()
    expect(await second!.state()).toBe('waiting')
    await queue.limit(null)
    expect(await second!.result()).toBe(2)
  })

  it('takes the rate of an operator', async () => {
    const queue = await open('limited')
    await node.command({ command: 'rate_limit', queue: 'limited', limit: '7/s' })
    expect(await queue.settings()).toEqual({ paused: false, rate: '7/s' })
    await node.command({ command: 'rate_limit', queue: 'limited', limit: null })
  })

  it('tells the progress of a job', async () => {
    const queue = await open()
    const values: unknown[] = []
    queue.on('progress', ({ value }) => values.push(value))
    const job = await queue.add('reportProgress', [[{ at: 1 }, { at: 2 }]])
    await job.result()
    // A listener gets the progress that is stored when it reads: the first may be replaced by then.
    await until('the last is told', () => (values.at(-1) as { at: number } | undefined)?.at === 2)
    expect([{ at: 1 }, { at: 2 }]).toEqual(expect.arrayContaining(values))
    expect((await job.details())!.progress).toEqual({ at: 2 })
  })

  it('fails a job that ends worker after worker, and no other', async () => {
    const queue = await open()
    const poison = await queue.add('killSelf', ['SIGKILL'], { id: 'poison' })
    const innocents = await queue.addBulk(Array.from({ length: 20 }, (_, index) => ({ task: 'echo', args: [index] })))
    await expect(poison.result()).rejects.toMatchObject({ code: 'ERR_PREFORK_WORKER_LOST' })
    expect(await Promise.all(innocents.map((job) => job.result()))).toHaveLength(20)
    expect(await poison.details()).toMatchObject({ state: 'failed', reason: 'lost', counts: { losses: 2 } })
  })

  it('runs a job again that ended its worker once', async () => {
    const queue = await open()
    const journal = new Journal()
    await (await queue.add('dieThenMark', [journal.path, 'done'], { retryLost: 1 })).result()
    expect(journal.lines).toEqual(['done'])
  })

  it('adds a job at each tick, and none when the schedule is removed', async () => {
    const queue = await open('ticks')
    const journal = new Journal()
    await queue.schedule('often', { every: 25, task: 'mark', args: [journal.path, 'tick'] })
    expect(await queue.schedules()).toMatchObject([{ key: 'often', every: 25, catchUp: 'one', task: 'mark', args: [journal.path, 'tick'] }])
    await until('three ticks have run', () => journal.lines.length >= 3)
    expect(await queue.unschedule('often')).toBe(true)
    expect(await queue.unschedule('often')).toBe(false)
    const added = (await queue.jobs()).map(({ id }) => Number(id.slice('often:'.length)))
    expect(new Set(added).size).toBe(added.length)
    expect(added.every((tick) => (tick - added[0]!) % 25 === 0)).toBe(true)
  })

  it('reports depth and connection', async () => {
    const [queue, paused] = [await open('limited'), await open('paused')]
    await queue.limit('1/h')
    await paused.pause()
    const jobs = await queue.addBulk([1, 2, 3].map((value) => ({ task: 'echo', args: [value] })))
    const other = await paused.add('echo', [4])
    await jobs[0]!.result()
    // Those that wait for the rate, and none of a paused queue.
    await until('it has asked for the depth', () => node.stats().depth === 2)
    expect(node.stats()).toMatchObject({ connected: true, queues: QUEUES })
    await queue.limit(null)
    await paused.resume()
    await Promise.all([...jobs, other].map((job) => job.result()))
  })
})
