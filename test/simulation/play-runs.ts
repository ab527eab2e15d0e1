import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect, it } from 'vitest'

const simulate = fileURLToPath(new URL('../../scripts/simulate.js', import.meta.url))

/**
 * Plays runs of the simulation in a process of its own, bundled: the same functions run a sixth faster than under the test runner.
 * `coverage`: every transition of a job or worker must occur. Each call has a new seed; `PREFORK_SEED=n` repeats the runs of an earlier
 * suite. `part` gives files that run at the same time different seeds. `queue`: those of the queue's stores, the one in a file where this Node has it.
 */
export const playRuns = (runs: number, { part = 0, coverage = false, queue = false } = {}): void => {
  const seed = Number(process.env.PREFORK_SEED ?? Date.now() & 0x3fff_ffff) * 2 + part

  it(`the simulation${queue ? ' of the stores' : ''} keeps every promise in ${runs} runs`, { timeout: 600_000 }, async () => {
    const args = [simulate, '--runs', String(runs), '--seed', String(seed), ...(coverage ? ['--coverage'] : []), ...(queue ? ['--queue'] : [])]
    const { exitCode, signal, stdout, stderr } = await execa(process.execPath, args, { reject: false, maxBuffer: 1 << 28 })
    expect(stderr).toBe('')
    expect(signal ?? exitCode, stdout.slice(-10_000)).toBe(0)
    expect(stdout).toContain(`${runs} runs, `)
  })
}
