import { expect, it } from 'vitest'
import { Demand } from '../../../src/node/scaling/demand.js'

it('is the most of the last keepAlive', () => {
  const peaks = new Demand(3_000, 0)
  const at = (workers: number, now: number): number => {
    peaks.note(workers, now)
    return peaks.peak(now)
  }
  at(4, 1_000)
  at(2, 2_000)
  expect([at(1, 3_900), at(1, 4_000), at(1, 4_200), at(1, 5_000), at(1, 5_200)]).toEqual([4, 4, 2, 2, 1])
})

it('has no end before keepAlive has passed', () => {
  const demand = new Demand(3_000, 1_000)
  demand.note(1, 3_999)
  expect(demand.peak(3_999)).toBe(Number.POSITIVE_INFINITY)
  expect(demand.peak(4_000)).toBe(1)
})
