import { describe, expect, it } from 'vitest'
import { fixture, pidOf, startPool, type TestPool } from '../fixtures/pools.js'
import { failure, gone, Journal, until, within } from '../fixtures/support.js'

const QUICK = { tasks: fixture('leftovers.js'), heartbeatInterval: 100, heartbeatTimeout: 1_000, maintainInterval: 200 } as const

/** After its answer; each holds the main thread for ever in its own way. */
const LEFTOVERS = ['timer', 'immediate', 'microtasks', 'ticks', 'waits'] as const

/** Answered, and its leftover has the thread. */
const leave = async (pool: TestPool, leftover: (typeof LEFTOVERS)[number]): Promise<void> => {
  const journal = new Journal()
  expect(await pool.run('leave', [leftover, journal.path])).toBe('left')
  await journal.seen('holds')
}

describe('promises 3, 5: a worker whose main thread is held by what a task left behind', () => {
  it.each(LEFTOVERS)('%s: is replaced, and what waits runs in the next', async (leftover) => {
    const pool = await startPool({ ...QUICK, timeLimit: 5_000 })
    const exits: string[] = []
    pool.on('workerExit', ({ reason }) => exits.push(reason))
    const pid = await pidOf(pool)
    await leave(pool, leftover)
    expect(await within(pidOf(pool), 15_000)).not.toBe(pid)
    await gone([pid], 5_000)
    await until('the death is told', () => exits.length > 0)
    expect(exits[0]).toContain('while no job ran')
  })

  it.each(['adaptive', 'fair', 'fast', 4] as const)('dispatch %s: every waiting job runs, and close() ends', async (dispatch) => {
    const pool = await startPool({ ...QUICK, dispatch, workers: 2 })
    // Of all that hold the thread, this costs no processor.
    await leave(pool, 'waits')
    await leave(pool, 'waits')
    const jobs = Array.from({ length: 20 }, (_, n) => pool.run('echo', [n]))
    await within(pool.close(), 20_000, 'close()')
    expect(await Promise.all(jobs)).toEqual(jobs.map((_, n) => n))
  })

  it('without a watchdog: a job that is not taken up goes to the next', async () => {
    const pool = await startPool({ ...QUICK, watchdog: false })
    const pid = await pidOf(pool)
    await leave(pool, 'timer')
    expect(await within(pidOf(pool), 15_000)).not.toBe(pid)
  })

  it('that has broken what takes jobs up: the same', async () => {
    const pool = await startPool(QUICK)
    const pid = await pidOf(pool)
    await pool.run('breakAtomics', [])
    expect(await within(pidOf(pool), 15_000)).not.toBe(pid)
  })

  it('lets a broadcast be answered by the replacement', async () => {
    const pool = await startPool(QUICK)
    const pid = await pidOf(pool)
    await leave(pool, 'timer')
    expect(await within(pool.broadcast('pid', []), 15_000)).not.toEqual([pid])
  })

  it('is replaced a bounded number of times, if each stands still before it takes anything up', async () => {
    // Ten times over: the shorter the better.
    const pool = await startPool({ ...QUICK, heartbeatTimeout: 600, tasks: fixture('held-from-the-start.js'), cancelGrace: 1_000 })
    const error = await failure(pool.run('pid', []), 60_000)
    expect(error).toMatchObject({ name: 'WorkerStartError', message: expect.stringMatching(/1[0-2] starts failed/) })
    await within(pool.close(), 10_000, 'close()')
  }, 90_000)

  it('is left alone while a job of its own runs there', async () => {
    const pool = await startPool({ ...QUICK, concurrency: 2 })
    const pid = await pidOf(pool)
    expect(await pool.run('spinFor', [2_500])).toBe(2_500)
    expect(await pidOf(pool)).toBe(pid)
  })
})
