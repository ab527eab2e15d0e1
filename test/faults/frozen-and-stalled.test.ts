import { WorkerLostError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { allUp, pidOf, startPool } from '../fixtures/pools.js'
import { blockHost, failure, gone, isAlive, Journal, until, within } from '../fixtures/support.js'

const QUICK = { heartbeatInterval: 100, heartbeatTimeout: 800 } as const

describe('promises 3, 8: a worker frozen by SIGSTOP', () => {
  it('is killed: its job is lost as frozen, the next job runs in the next worker', async () => {
    const pool = await startPool({ ...QUICK, dispatch: 'fast' })
    const journal = new Journal()
    const pid = await pidOf(pool)
    const job = pool.submit('ignoreAbort', [journal.path])
    const behind = pool.submit('pid', [])
    await journal.seen('begun')
    process.kill(pid, 'SIGSTOP')
    const error = await failure(job.result)
    expect(error).toBeInstanceOf(WorkerLostError)
    expect(error).toMatchObject({ reason: 'frozen', accepted: true })
    expect(await within(behind.result, 10_000)).not.toBe(pid)
    await gone([pid])
  })

  it('is replaced when it was idle', async () => {
    const pool = await startPool(QUICK)
    const reasons: string[] = []
    pool.on('workerExit', ({ reason }) => reasons.push(reason))
    const pid = await pidOf(pool)
    process.kill(pid, 'SIGSTOP')
    // Well before the default of 7 s.
    await gone([pid], 5_500)
    expect(await pidOf(pool)).not.toBe(pid)
    expect(reasons).toEqual([expect.stringMatching(/frozen|silent|heartbeat/i)])
  })

  it('is left alone when it continues within heartbeatTimeout', async () => {
    const pool = await startPool({ heartbeatInterval: 100, heartbeatTimeout: 8_000 })
    const pid = await pidOf(pool)
    process.kill(pid, 'SIGSTOP')
    const answer = pool.run('pid', [])
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    process.kill(pid, 'SIGCONT')
    expect(await within(answer, 5_000)).toBe(pid)
  })

  it('does not block close()', async () => {
    const pool = await startPool({ ...QUICK, cancelGrace: 100 })
    const pid = await pidOf(pool)
    process.kill(pid, 'SIGSTOP')
    await within(pool.close(), 8_000, 'close()')
    expect(isAlive(pid)).toBe(false)
  })
})

describe('promises 3, 8: a busy worker', () => {
  it('is not killed when the host blocks its own event loop for seconds', async () => {
    const pool = await startPool({ ...QUICK, workers: 2, aliveTimeout: 500 })
    const pids = await allUp(pool, 2)
    // On a slow machine a first start may have taken longer than `aliveTimeout`.
    const { workersDied, workersStarted } = pool.stats().totals
    const jobs = [pool.submit('sleep', [200, 'short']), pool.submit('sleep', [3_500, 'long'])]
    await until('both run', () => jobs.every((job) => job.accepted))
    blockHost(3_000)
    expect(await Promise.all(jobs.map((job) => job.result))).toEqual(['short', 'long'])
    expect(await allUp(pool, 2)).toEqual(pids)
    expect(pool.stats().totals).toMatchObject({ workersDied, workersStarted })
  })
})
