import { describe, expect, it } from 'vitest'
import { startPool } from '../fixtures/pools.js'
import { within } from '../fixtures/support.js'
import { filled, recycled } from './bounds.js'

describe('promise 11: jobs running at once', () => {
  filled([
    [1, 1],
    [2, 1],
  ])
})

describe('promise 11: recycling by jobs', () => {
  recycled(['fair', 'fast'])
})

describe('promise 11: maxQueue', () => {
  it('is unbounded by default', async () => {
    const pool = await startPool({ watchdog: false })
    const jobs = Array.from({ length: 5_000 }, (_, index) => pool.run('echo', [index]))
    expect(await within(Promise.all(jobs), 20_000)).toHaveLength(5_000)
  })
})
