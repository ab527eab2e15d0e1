import { describe, expect, it } from 'vitest'
import { fixture, pidOf, startPool, type TestPool } from '../fixtures/pools.js'
import { gone, Journal, until, within } from '../fixtures/support.js'

const QUICK = { tasks: fixture('stalling-tasks.js'), heartbeatInterval: 100, heartbeatTimeout: 1_000, maintainInterval: 200 } as const

/** Ways in which code that outlives its job holds the main thread for ever. */
const STALLS = ['timer', 'immediate', 'microtasks', 'ticks', 'waits'] as const

/** Runs a job that answers and then stalls its worker. */
const stall = async (pool: TestPool, kind: (typeof STALLS)[number]): Promise<void> => {
  const journal = new Journal()
  expect(await pool.run('answerThenStall', [kind, journal.path])).toBe('answered')
  await journal.seen('stalled')
}

describe('promises 3, 5: a worker whose main thread is held by code that outlived its job', () => {
  it.each(STALLS)('%s: is replaced, and waiting jobs run in the next worker', async (kind) => {
    const pool = await startPool({ ...QUICK, timeLimit: 5_000 })
    const exits: string[] = []
    pool.on('workerExit', ({ reason }) => exits.push(reason))
    const pid = await pidOf(pool)
    await stall(pool, kind)
    expect(await within(pidOf(pool), 15_000)).not.toBe(pid)
    await gone([pid], 5_000)
    await until('workerExit is emitted', () => exits.length > 0)
    expect(exits[0]).toContain('while no job ran')
  })

  it.each(['adaptive', 'fair', 'fast', 4] as const)('dispatch %s: every waiting job runs, and close() ends', async (dispatch) => {
    const pool = await startPool({ ...QUICK, dispatch, workers: 2 })
    // 'waits' is the stall that uses no processor.
    await stall(pool, 'waits')
    await stall(pool, 'waits')
    const jobs = Array.from({ length: 20 }, (_, n) => pool.run('echo', [n]))
    await within(pool.close(), 20_000, 'close()')
    expect(await Promise.all(jobs)).toEqual(jobs.map((_, n) => n))
  })

  it('is replaced without a watchdog: a written job that it does not accept runs in the next worker', async () => {
    const pool = await startPool({ ...QUICK, watchdog: false })
    const pid = await pidOf(pool)
    await stall(pool, 'timer')
    expect(await within(pidOf(pool), 15_000)).not.toBe(pid)
  })

  it('is replaced when a task has broken the claim of jobs', async () => {
    const pool = await startPool(QUICK)
    const pid = await pidOf(pool)
    await pool.run('breakAtomics', [])
    expect(await within(pidOf(pool), 15_000)).not.toBe(pid)
  })

  it('is replaced, and the replacement answers a broadcast', async () => {
    const pool = await startPool(QUICK)
    const pid = await pidOf(pool)
    await stall(pool, 'timer')
    expect(await within(pool.broadcast('pid', []), 15_000)).not.toEqual([pid])
  })

  it('is not replaced while a job runs there', async () => {
    const pool = await startPool({ ...QUICK, concurrency: 2 })
    const pid = await pidOf(pool)
    expect(await pool.run('spinFor', [2_500])).toBe(2_500)
    expect(await pidOf(pool)).toBe(pid)
  })
})
