import type { PoolOptions } from 'prefork'
import { expect, it } from 'vitest'
import { fixture, pidOf, startPool, type TestPool } from '../fixtures/pools.js'
import { gone, Journal, until, within } from '../fixtures/support.js'

export const QUICK = { tasks: fixture('stalling-tasks.js'), heartbeatInterval: 100, heartbeatTimeout: 1_000, maintainInterval: 200, cancelGrace: 200 } as const

/** How code that outlives its job holds the main thread for ever. */
type Stall = 'timer' | 'immediate' | 'microtasks' | 'ticks' | 'waits'

/** Runs a job that answers and then stalls its worker. */
export const stall = async (pool: TestPool, kind: Stall): Promise<void> => {
  const journal = new Journal()
  expect(await pool.run('answerThenStall', [kind, journal.path])).toBe('answered')
  await journal.seen('stalled')
}

/** Tests that such a worker is replaced. */
export const stallsAreFound = (kinds: readonly Stall[]): void => {
  it.each(kinds)('%s: is replaced, and waiting jobs run in the next worker', async (kind) => {
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
}

/** Tests that such workers keep no job, and no `close()`, with these values of the option `dispatch`. */
export const closeEnds = (dispatches: readonly NonNullable<PoolOptions['dispatch']>[]): void => {
  it.each(dispatches)('dispatch %s: every waiting job runs, and close() ends', async (dispatch) => {
    const pool = await startPool({ ...QUICK, dispatch, workers: 2 })
    // 'waits' is the stall that uses no processor.
    await stall(pool, 'waits')
    await stall(pool, 'waits')
    const jobs = Array.from({ length: 20 }, (_, n) => pool.run('echo', [n]))
    await within(pool.close(), 20_000, 'close()')
    expect(await Promise.all(jobs)).toEqual(jobs.map((_, n) => n))
  })
}
