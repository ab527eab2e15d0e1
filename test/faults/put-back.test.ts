import { readFileSync } from 'node:fs'
import { WorkerLostError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { allUp, pidOf, startPool, type TestPool } from '../fixtures/pools.js'
import { failure, gone, Journal, Latch, until, within } from '../fixtures/support.js'

/** A worker that is blocked by a synchronous job, and jobs written behind it in its pipe. */
const heldWorker = async (pool: TestPool) => {
  const pid = await pidOf(pool)
  const journal = new Journal()
  const latch = new Latch()
  const holder = pool.submit('holdSync', [latch.path, journal.path, 'holder'])
  await journal.seen('+holder')
  await until('the host knows', () => holder.accepted)
  return { pid, journal, latch, holder }
}

describe('promises 1, 2: jobs that a dead worker had not accepted', () => {
  it('are not lost when the jobs written before them crash their workers', async () => {
    const pool = await startPool({ workers: 2 })
    // Short until now, so that the dispatcher writes ahead.
    await Promise.all(Array.from({ length: 50 }, (_, n) => pool.run('exitIf', [false, n])))
    const jobs = Array.from({ length: 240 }, (_, n) => pool.run('exitIf', [n % 12 === 11, n]))
    const outcomes = await Promise.allSettled(jobs)
    const failed = outcomes.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))
    expect(failed).toEqual(Array.from({ length: 20 }, (_, crash) => 12 * crash + 11))
  })

  it('run elsewhere, each once, in their original order', async () => {
    // A window of five: the holder and four jobs behind it are written, the other four wait in the job queue.
    const pool = await startPool({ dispatch: 5 })
    const putBack: string[] = []
    pool.on('jobPutBack', ({ id }) => putBack.push(id))
    const { pid, journal, holder } = await heldWorker(pool)
    const behind = Array.from({ length: 8 }, (_, index) => pool.submit('mark', [journal.path, index]))
    await until('four are written ahead', () => behind.filter((job) => job.state === 'written').length === 4)
    expect(behind.some((job) => job.accepted)).toBe(false)
    const urgent = pool.submit('mark', [journal.path, 'submitted last, highest priority'], { priority: 1 })

    process.kill(pid, 'SIGKILL')
    expect(await failure(holder.result)).toBeInstanceOf(WorkerLostError)
    const after = pool.submit('mark', [journal.path, 'last'])
    await within(Promise.all([...behind, urgent, after].map((job) => job.result)), 15_000)
    expect(journal.lines).toEqual(['+holder', 'submitted last, highest priority', '0', '1', '2', '3', '4', '5', '6', '7', 'last'])
    expect(behind.map((job) => job.attempt)).toEqual(Array(8).fill(1))
    expect(putBack).toEqual(expect.arrayContaining(behind.slice(0, 4).map((job) => job.id)))
    expect(pool.stats().totals.putBack).toBeGreaterThanOrEqual(4)
    expect(await Promise.all(behind.map((job) => job.began))).toEqual(Array(8).fill(true))
  })

  it('return to their old place when the queue is full too', async () => {
    const pool = await startPool({ dispatch: 'fast', maxQueue: 4 })
    const { pid, journal, holder } = await heldWorker(pool)
    const behind = Array.from({ length: 4 }, (_, index) => pool.submit('mark', [journal.path, index]))
    expect(await failure(pool.run('echo', [1]))).toMatchObject({ name: 'QueueFullError' })
    process.kill(pid, 'SIGKILL')
    await failure(holder.result)
    expect(await Promise.all(behind.map((job) => job.result))).toEqual([0, 1, 2, 3])
  })

  it('are taken by the remaining workers', async () => {
    const pool = await startPool({ workers: 2, dispatch: 'fast' })
    const pids = await allUp(pool, 2)
    const latches = [new Latch(), new Latch()]
    const journal = new Journal()
    const holders = latches.map((latch, index) => pool.submit('holdSync', [latch.path, journal.path, `holder ${index}`]))
    await journal.seen('+holder 0')
    await journal.seen('+holder 1')
    const jobs = Array.from({ length: 20 }, (_, index) => pool.submit('mark', [journal.path, index]))
    await until('they are written', () => jobs.every((job) => job.state === 'written'))
    process.kill(pids[0]!, 'SIGKILL')
    for (const latch of latches) latch.open()
    await Promise.allSettled(holders.map((job) => job.result))
    expect(holders.map((job) => job.state).sort()).toEqual(['lost', 'succeeded'])
    await within(Promise.all(jobs.map((job) => job.result)), 15_000)
    const marks = journal.lines.filter((line) => /^\d/.test(line))
    expect(marks.map(Number).sort((a, b) => a - b)).toEqual(jobs.map((_, index) => index))
  })

  it.each([1, 3])('are lost after maxPutBacks (%i), without having begun', async (maxPutBacks) => {
    const pool = await startPool({ dispatch: 'fast', maxPutBacks })
    const journal = new Journal()
    const latch = new Latch()
    let deaths = 0
    let victim: ReturnType<TestPool['submit']> | undefined
    // A holder with priority always runs first, so that the victim stays unaccepted in the pipe.
    for (let round = 0; round < 10; round += 1) {
      const holder = pool.submit('holdSync', [latch.path, journal.path, `holder ${round}`], { priority: 1 })
      victim ??= pool.submit('mark', [journal.path, 'victim'])
      await journal.seen(`+holder ${round}`)
      await until('the victim is written', () => victim!.state === 'written')
      process.kill(await until('the worker is known', () => pool.stats().workers.find((worker) => worker.job)?.pid), 'SIGKILL')
      deaths += 1
      await failure(holder.result)
      if ((await until('the victim has left the pipe', () => victim!.state !== 'written' && victim!.state)) !== 'queued') break
    }
    const error = await failure(victim!.result)
    expect(error).toBeInstanceOf(WorkerLostError)
    expect(error).toMatchObject({ accepted: false, reason: 'put back too often' })
    expect(victim).toMatchObject({ accepted: false, state: 'lost' })
    expect(await victim!.began).toBe(false)
    expect(journal.has('victim')).toBe(false)
    expect([maxPutBacks, maxPutBacks + 1]).toContain(deaths)
    expect(await pool.run('echo', ['fine'])).toBe('fine')
  })
})

describe('promise 2: a worker whose pipes its task has damaged', () => {
  it.each([
    ['its jobs pipe closed', 'closeFd', [3]],
    ['its results pipe closed', 'closeFd', [4]],
    ['its lifeline closed', 'closeFd', [5]],
    ['junk in its results pipe', 'junk', [4, 100_000]],
    ['a little junk in its results pipe', 'junk', [4, 3]],
    ['junk on its lifeline', 'junk', [5, 1_000]],
  ] as const)('%s: everything settles, and each job that had not begun runs once', async (_, task, args) => {
    const pool = await startPool({
      dispatch: 'fast',
      heartbeatInterval: 200,
      heartbeatTimeout: 1_500,
      lostWorkerTimeout: 500,
      maintainInterval: 500,
      timeLimit: 4_000,
    })
    const journal = new Journal()
    const faulty = pool.submit(task, [...args])
    const jobs = Array.from({ length: 20 }, (_, index) => pool.submit('mark', [journal.path, `(${index})`]))
    await within(Promise.allSettled([faulty, ...jobs].map((job) => job.result)), 25_000, 'a job behind the faulty')
    // Not by lines: after a descriptor is closed the journal may get its number, and the worker may write frames before the first line.
    const written = readFileSync(journal.path, 'latin1')
    for (const [index, job] of jobs.entries()) {
      const marks = written.split(`(${index})`).length - 1
      if (job.state === 'succeeded') expect(marks).toBe(1)
      else {
        expect(job.accepted, `job ${index} was not accepted and must not be lost`).toBe(true)
        expect(marks).toBeLessThanOrEqual(1)
      }
    }
    expect(await within(pool.run('echo', ['fine']), 15_000)).toBe('fine')
  })

  it.each([true, false])('loses the job as a protocol error, not by the signal, when its results pipe is closed (watchdog: %s)', async (watchdog) => {
    const pool = await startPool({ dispatch: 'fast', watchdog })
    const reasons: unknown[] = []
    pool.on('workerExit', ({ reason }) => reasons.push(reason))
    // Whichever thread reads the lifeline answers: the worker is alive.
    await pool.stack(pool.stats().workers[0]!.id)
    const journal = new Journal()
    const faulty = pool.submit('closeFd', [4])
    const behind = Array.from({ length: 5 }, (_, index) => pool.submit('mark', [journal.path, index]))
    const error = await failure(faulty.result)
    expect(error).toMatchObject({ name: 'WorkerLostError', accepted: true, reason: 'protocol' })
    expect((error as Error).message).toMatch(/results pipe was closed or damaged in the worker \(EBADF/)
    expect(await Promise.all(behind.map((job) => job.result))).toEqual([0, 1, 2, 3, 4])
    expect(journal.lines).toEqual(['0', '1', '2', '3', '4'])
    expect(reasons).toEqual([expect.stringContaining('results pipe')])
  })

  it('exits when the pool says so, even with process.exit, process.kill and SIGTERM disarmed', async () => {
    const pool = await startPool()
    const pid = await pidOf(pool)
    expect(await pool.run('disarmExit', [])).toBe('disarmed')
    await within(pool.close(), 10_000)
    await gone([pid])
  })
})
