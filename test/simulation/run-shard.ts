import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

/** Each of the two files plays half of the runs, so that two cores share them. */
const RUNS = 1_500

const simulate = fileURLToPath(new URL('../../scripts/simulate.js', import.meta.url))

/**
 * In a process of its own, bundled: the same functions run a sixth faster than under the test runner.
 * `PREFORK_SEED=n` plays the runs of a former suite again.
 */
export const shard = (half: 0 | 1): void => {
  describe(`the simulation, half ${half + 1}`, () => {
    it(`keeps every promise in ${RUNS} runs`, { timeout: 240_000 }, () => {
      const seed = Number(process.env.PREFORK_SEED ?? Date.now() & 0x3fff_ffff) * 2 + half
      const { status, stdout, stderr } = spawnSync(process.execPath, [simulate, '--runs', String(RUNS), '--seed', String(seed), '--whole'], {
        encoding: 'utf8',
      })
      console.log(stdout)
      expect(stderr).toBe('')
      expect(status, stdout.slice(-10_000)).toBe(0)
      expect(stdout).toContain(`${RUNS} runs, `)
    })
  })
}
