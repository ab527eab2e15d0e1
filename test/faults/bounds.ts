import type { PoolOptions } from 'prefork'
import { expect, it } from 'vitest'
import { allUp, startPool } from '../fixtures/pools.js'
import { Journal, Latch, until } from '../fixtures/support.js'

/** Tests that so many workers with so many slots run so many jobs at once. */
export const filled = (sizes: readonly (readonly [workers: number, concurrency: number])[]): void => {
  it.each(sizes)('are exactly workers x concurrency under load: %i x %i', async (workers, concurrency) => {
    const pool = await startPool({ watchdog: false, workers, concurrency })
    await allUp(pool, workers)
    const journal = new Journal()
    const latch = new Latch()
    const jobs = Array.from({ length: workers * concurrency + 3 }, (_, index) => pool.run('hold', [latch.path, journal.path, index]))
    await until('every slot is taken', () => journal.lines.length === workers * concurrency && pool.stats().running === workers * concurrency)
    expect(pool.stats()).toMatchObject({ running: workers * concurrency, queued: 3 })
    latch.open()
    await Promise.all(jobs)
    expect(journal.overlap).toBe(workers * concurrency)
  })
}

/** Tests `maxJobsPerWorker` with these values of the option `dispatch`. */
export const recycled = (dispatches: readonly NonNullable<PoolOptions['dispatch']>[]): void => {
  it.each(dispatches)('no worker does more than maxJobsPerWorker, dispatch %s', async (dispatch) => {
    const pool = await startPool({ workers: 2, concurrency: 2, maxJobsPerWorker: 6, dispatch })
    const journal = new Journal()
    const pids = await Promise.all(Array.from({ length: 40 }, () => pool.run('markPid', [journal.path])))
    const done = new Map<unknown, number>()
    for (const pid of pids) done.set(pid, (done.get(pid) ?? 0) + 1)
    expect(Math.max(...done.values())).toBeLessThanOrEqual(6)
    expect(done.size).toBeGreaterThanOrEqual(7)
    expect(journal.lines).toHaveLength(40)
    expect(pool.stats().totals.workersRecycled).toBeGreaterThanOrEqual(5)
    expect(pool.stats().totals.lost).toBe(0)
  })
}
