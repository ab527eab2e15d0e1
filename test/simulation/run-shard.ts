import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
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
    it(`keeps every promise in ${RUNS} runs`, { timeout: 600_000 }, async () => {
      const seed = Number(process.env.PREFORK_SEED ?? Date.now() & 0x3fff_ffff) * 2 + half
      const typed = [simulate, '--runs', String(RUNS), '--seed', String(seed), '--whole']
      const { exitCode, signal, stdout, stderr } = await execa(process.execPath, typed, { reject: false, maxBuffer: 1 << 28 })
      console.log(stdout)
      expect(stderr).toBe('')
      expect(signal ?? exitCode, stdout.slice(-10_000)).toBe(0)
      expect(stdout).toContain(`${RUNS} runs, `)
    })
  })
}
