import { expect, it } from 'vitest'
import { quantile, seeded, spread } from '../../native-bench/lib/statistics.js'

it('a spread has median, minimum and maximum, whatever the order', () => {
  expect(spread([3, 1, 2])).toEqual({ median: 2, least: 1, most: 3, rounds: 3 })
  expect(spread([4, 1])).toEqual({ median: 2.5, least: 1, most: 4, rounds: 2 })
  expect(spread([7])).toEqual({ median: 7, least: 7, most: 7, rounds: 1 })
})

it('a spread sorts its values as numbers', () => {
  expect(spread([100, 9, 20]).median).toBe(20)
})

it('a quantile is one of the values, at most the greatest', () => {
  const sorted = Array.from({ length: 1_000 }, (_, n) => n)
  expect(quantile(sorted, 0.5)).toBe(500)
  expect(quantile(sorted, 0.999)).toBe(999)
  expect(quantile(sorted, 1)).toBe(999)
  expect(quantile([], 0.5)).toBeNaN()
})

it('seeded random numbers are the same in each run and between 0 and 1', () => {
  const [one, other] = [seeded(1), seeded(1)]
  const drawn = Array.from({ length: 10_000 }, () => one())
  expect(Array.from({ length: 10_000 }, () => other())).toEqual(drawn)
  expect(drawn.every((each) => each >= 0 && each < 1)).toBe(true)
  expect(drawn.filter((each) => each < 0.01).length).toBeGreaterThan(50)
  expect(drawn.filter((each) => each < 0.01).length).toBeLessThan(150)
})
