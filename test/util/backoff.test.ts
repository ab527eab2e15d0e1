import { describe, expect, test } from 'vitest'
import { exponentialDelay, jittered } from '../../src/util/backoff.js'

describe('exponentialDelay', () => {
  test('starts with the first delay, doubles with each failure, and stops at the largest', () => {
    expect([1, 2, 3, 4, 5, 6].map((failures) => exponentialDelay(failures, 100, 1_000))).toEqual([100, 200, 400, 800, 1_000, 1_000])
  })

  test('is the largest delay after any number of failures', () => {
    expect(exponentialDelay(5_000, 100, 30_000)).toBe(30_000)
  })
})

describe('jittered', () => {
  test('takes off between nothing and the whole share', () => {
    expect(jittered(1_000, 0.25, () => 0)).toBe(1_000)
    expect(jittered(1_000, 0.25, () => 0.5)).toBe(875)
    expect(jittered(1_000, 0.25, () => 1)).toBe(750)
  })

  test('gives whole milliseconds, at random by default', () => {
    for (let i = 0; i < 100; i++) {
      const delay = jittered(1_001, 0.5)
      expect(Number.isInteger(delay)).toBe(true)
      expect(delay).toBeGreaterThanOrEqual(500)
      expect(delay).toBeLessThanOrEqual(1_001)
    }
  })
})
