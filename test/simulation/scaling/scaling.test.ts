import { expect, it } from 'vitest'
import { Random } from '../random.js'
import { explore } from './explore.js'
import { play } from './farm.js'
import { randomFarm } from './mixes.js'
import { SCENARIOS } from './scenarios.js'

const seed = Number(process.env.PREFORK_SEED ?? Date.now() & 0x3fff_ffff)

// More: scaling.long.test.ts.
it('nodes keep what they promise in forty random farms', () => {
  const { runs, faults } = explore({ seed, runs: 40, time: Number.POSITIVE_INFINITY, endOnFault: true })
  expect(faults).toEqual([])
  expect(runs).toBe(40)
})

it.each(Object.entries(SCENARIOS))('%s', (_name, scenario) => {
  expect(scenario(seed, new Random(seed)).faults).toEqual([])
})

it('the same seed gives the same run', () => {
  const [one, other] = [1, 2].map(() => play(randomFarm(3_233, new Random(3_233))))
  expect(one!.starts).toBeGreaterThan(0)
  expect(other).toEqual(one)
})
