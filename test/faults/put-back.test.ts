import { WorkerLostError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { allUp, pidOf, startPool, type TestPool } from '../fixtures/pools.js'
import { failure, gone, Journal, Latch, until, within } from '../fixtures/support.js'
import { crashing, damages, lostAfter, protocolErrors } from './put-back.js'

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
  crashing(3)

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

  // The others: put-back.long.test.ts.
  lostAfter([1])
})

describe('promise 2: a worker whose pipes its task has damaged', () => {
  damages([
    ['its results pipe closed', 'closeFd', [4]],
    ['junk in its results pipe', 'junk', [4, 100_000]],
  ])

  protocolErrors([true])

  it('exits when the pool says so, even with process.exit, process.kill and SIGTERM disarmed', async () => {
    const pool = await startPool({ cancelGrace: 200 })
    const pid = await pidOf(pool)
    expect(await pool.run('disarmExit', [])).toBe('disarmed')
    await within(pool.close(), 10_000)
    await gone([pid])
  })
})
