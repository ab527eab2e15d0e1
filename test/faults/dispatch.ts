import type { PoolOptions } from 'prefork'
import { expect, it } from 'vitest'
import { startPool } from '../fixtures/pools.js'

/** Tests large arguments with these values of the option `dispatch`. */
export const nothingTakenBack = (dispatches: readonly NonNullable<PoolOptions['dispatch']>[]): void => {
  it.each(dispatches)('%s takes nothing back from a worker that is still reading it, however large', async (dispatch) => {
    const pool = await startPool({ workers: 2, concurrency: 2, dispatch })
    const sizes = [48_000_000, 16_000_000, 1_000_000, 128_000, 48_000_000]
    const values = await Promise.all(sizes.map((size) => pool.run('sizeOf', [Buffer.alloc(size)])))
    expect(values).toEqual(sizes)
    // A running neighbour may cost one put-back; a livelock costs hundreds.
    expect(pool.stats().totals.putBack).toBeLessThan(20)
  })
}
