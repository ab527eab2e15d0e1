import { describe, expect, it } from 'vitest'
import { pidOf, startPool } from '../fixtures/pools.js'
import { within } from '../fixtures/support.js'
import { closeEnds, QUICK, stall, stallsAreFound } from './stalled-worker.js'

describe('promises 3, 5: a worker whose main thread is held by code that outlived its job', () => {
  // The others: stalled-worker.long.test.ts.
  stallsAreFound(['timer'])

  closeEnds(['adaptive'])

  it('is replaced without a watchdog: a written job that it does not accept runs in the next worker', async () => {
    const pool = await startPool({ ...QUICK, watchdog: false })
    const pid = await pidOf(pool)
    await stall(pool, 'waits')
    expect(await within(pidOf(pool), 15_000)).not.toBe(pid)
  })

  it('is replaced when a task has broken the claim of jobs', async () => {
    const pool = await startPool(QUICK)
    const pid = await pidOf(pool)
    await pool.run('breakAtomics', [])
    expect(await within(pidOf(pool), 15_000)).not.toBe(pid)
  })

  it('is not replaced while a job runs there', async () => {
    const pool = await startPool({ ...QUICK, concurrency: 2 })
    const pid = await pidOf(pool)
    expect(await pool.run('waitFor', [2_500])).toBe(2_500)
    expect(await pidOf(pool)).toBe(pid)
  })
})
