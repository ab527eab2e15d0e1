import { describe, expect, it } from 'vitest'
import { limitsWithin } from '../../src/util/limits.js'

describe('limitsWithin', () => {
  const within = (softLimit: number, hardLimit: number, left: number): number[] => {
    const { softLimit: soft, hardLimit: hard } = limitsWithin({ softLimit, hardLimit }, left, { grace: 1_000, softToKill: 5_000 })
    return [soft, hard]
  }

  it.each([
    ['none of its own: it is asked one grace before the end', [0, 0, 60_000], [59_000, 60_000]],
    ['own limits that end before', [10_000, 20_000, 60_000], [10_000, 20_000]],
    ['an own hard limit that ends before', [0, 20_000, 60_000], [0, 20_000]],
    ['an own soft limit, whose kill is before', [10_000, 0, 60_000], [10_000, 0]],
    ['an own soft limit, whose kill would be after', [58_000, 0, 60_000], [58_000, 60_000]],
    ['an own hard limit that is after', [0, 90_000, 60_000], [59_000, 60_000]],
    ['own limits that are both after', [80_000, 90_000, 60_000], [59_000, 60_000]],
    ['an own hard limit within the grace', [0, 59_500, 60_000], [59_000, 59_500]],
    ['less than the grace', [0, 0, 300], [1, 300]],
    ['nothing left', [0, 0, -5], [1, 1]],
    ['fractions', [0, 0, 2_000.9], [1_000, 2_000]],
    ['more than a frame carries', [0, 0, Number.POSITIVE_INFINITY], [0xffff_ffff - 1_000, 0xffff_ffff]],
  ])('gives a job with %s', (_what, [soft, hard, left], wanted) => {
    expect(within(soft!, hard!, left!)).toEqual(wanted)
  })
})
