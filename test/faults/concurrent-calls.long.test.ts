import { describe, expect, it } from 'vitest'
import { allUp, startPool } from '../fixtures/pools.js'
import { until } from '../fixtures/support.js'

describe('promises 3, 11: concurrent calls of the pool', () => {
  it('resize() down and up never exceeds the bound while surplus workers finish their jobs', async () => {
    const pool = await startPool({ workers: 3, spare: 2 })
    await allUp(pool, 3)
    const jobs = Array.from({ length: 8 }, (_, index) => pool.run('sleep', [600, index]))
    await until('three run', () => pool.stats().running === 3)
    pool.resize(1)
    pool.resize(3)
    let most = 0
    const done = Promise.all(jobs)
    const watch = setInterval(() => {
      most = Math.max(most, pool.stats().running)
    }, 10)
    await done
    clearInterval(watch)
    expect(most).toBeLessThanOrEqual(3)
  })
})
