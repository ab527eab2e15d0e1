import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect, it } from 'vitest'

const simulate = fileURLToPath(new URL('../../scripts/simulate.js', import.meta.url))

/**
 * Plays runs of the simulation in a process of their own, bundled: the same functions run a sixth faster than under the test runner.
 * With `whole`, each arrow of a job's life must have been taken. The seed is another one each time, and `PREFORK_SEED=n` plays the runs of a
 * former suite again; `part` tells apart the seeds of files that run beside each other.
 */
export const playRuns = (runs: number, { part = 0, whole = false } = {}): void => {
  const seed = Number(process.env.PREFORK_SEED ?? Date.now() & 0x3fff_ffff) * 2 + part

  it(`the simulation keeps every promise in ${runs} runs`, { timeout: 600_000 }, async () => {
    const typed = [simulate, '--runs', String(runs), '--seed', String(seed), ...(whole ? ['--whole'] : [])]
    const { exitCode, signal, stdout, stderr } = await execa(process.execPath, typed, { reject: false, maxBuffer: 1 << 28 })
    expect(stderr).toBe('')
    expect(signal ?? exitCode, stdout.slice(-10_000)).toBe(0)
    expect(stdout).toContain(`${runs} runs, `)
  })
}
