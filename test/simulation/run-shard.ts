import { describe, expect, it } from 'vitest'
import { explore } from './explore.js'
import { Coverage } from './truth.js'

/** Each of the two files plays half of the runs, so that two cores share them. */
const RUNS = 1_500

/** `PREFORK_SEED=n` plays the runs of a former suite again. */
export const shard = (half: 0 | 1): void => {
  describe(`the simulation, half ${half + 1}`, () => {
    it(`keeps every promise in ${RUNS} runs`, { timeout: 240_000 }, async () => {
      const coverage = new Coverage()
      const seed = Number(process.env.PREFORK_SEED ?? Date.now() & 0x3fff_ffff) * 2 + half
      const failure = await explore(coverage, { runs: RUNS, seed, endOnFailure: process.env.PREFORK_BAIL === '1' })
      console.log(`simulation, seed ${seed}\n${coverage.report()}`)
      if (failure !== undefined) expect.fail(failure)
      expect(coverage.runs).toBeGreaterThanOrEqual(RUNS)
      expect(coverage.steps / coverage.runs).toBeGreaterThanOrEqual(90)
      expect(coverage.missing, 'arrows of a job that were never taken').toEqual([])
    })
  })
}
