import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Histogram } from '../../src/pool/histogram.js'

const time = fc.double({ min: 0.001, max: 40 * 86_400_000, noNaN: true })

describe('the histogram', () => {
  test('has quantiles within 10 % of the true ones, and exact extremes and mean', () => {
    fc.assert(
      fc.property(fc.array(time, { minLength: 1, maxLength: 300, size: 'max' }), (times) => {
        const histogram = new Histogram()
        for (const each of times) histogram.record(each)
        const sorted = [...times].sort((a, b) => a - b)
        const { p50, p90, p99, ...rest } = histogram.stats()
        for (const [q, got] of [
          [0.5, p50],
          [0.9, p90],
          [0.99, p99],
        ] as const) {
          const exact = sorted[Math.ceil(q * sorted.length) - 1]!
          expect(Math.abs(got - exact)).toBeLessThanOrEqual(0.1 * exact)
        }
        expect(rest).toEqual({
          count: times.length,
          mean: times.reduce((sum, each) => sum + each, 0) / times.length,
          min: sorted[0],
          max: sorted.at(-1),
        })
      }),
    )
  })

  test('is all zero without values', () => {
    expect(new Histogram().stats()).toEqual({ count: 0, mean: 0, min: 0, p50: 0, p90: 0, p99: 0, max: 0 })
  })

  test('is finite for times below the resolution of a clock, and for endless ones', () => {
    const histogram = new Histogram()
    for (const ms of [0, -0.5, 0.0001, 1e15]) histogram.record(ms)
    expect(histogram.stats()).toMatchObject({ count: 4, min: 0, p99: expect.closeTo(4.2e9, -8), max: 1e15 })
    expect(histogram.stats().p50).toBeLessThan(0.002)
  })
})
