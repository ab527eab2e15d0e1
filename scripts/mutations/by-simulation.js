import { join } from 'node:path'
import { execa } from 'execa'
import { bundle } from '../bundle.js'

/** Fixed, so that the figures of docs/reliability.md are reproducible. */
const SEED = 1
const RUNS = 3_000
/** A limit of CPU time: a busy machine must not count as a hang. */
const CPU_SECONDS = 400
const TIMEOUT_MS = 3_600_000

/** Of the stores: a run takes a second, of which the disk has a part. */
const STORE_RUNS = 60

/** Plays runs with the mutated copy until one fails. A simulation that hangs or crashes has failed too. */
export const bySimulation = (copy, _mutation) => playRuns(copy, 'test/simulation/main.ts', RUNS)

/** As `bySimulation`, with the simulation of the stores. */
export const byStoreSimulation = (copy, _mutation) => playRuns(copy, 'test/queue/simulation/main.ts', STORE_RUNS)

/** Of how nodes scale. */
const SCALING_RUNS = 240

/** As `bySimulation`, with the simulation of how nodes scale; a mutation with a `test` is given to that unit test. */
export const byScalingSimulation = async (copy, mutation) => {
  const test = mutation?.test
  if (test === undefined) return playRuns(copy, 'test/simulation/scaling/main.ts', SCALING_RUNS)
  const { failed } = await execa(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--bail=1', test], {
    cwd: copy.root,
    reject: false,
    timeout: TIMEOUT_MS,
  })
  return { caught: failed, how: test }
}

const playRuns = async ({ root }, entry, runs) => {
  const file = join(root, 'simulation.mjs')
  try {
    await bundle(root, entry, file)
  } catch {
    return { caught: false, how: 'does not build' }
  }
  const args = [process.execPath, '--enable-source-maps', file, '--first', '--seed', String(SEED), '--runs', String(runs)]
  const limited = ['-c', `ulimit -t ${CPU_SECONDS}; exec "$0" "$@"`, ...args]
  const { exitCode, signal, stdout, stderr } = await execa('sh', limited, { cwd: root, reject: false, timeout: TIMEOUT_MS, killSignal: 'SIGKILL' })
  if (exitCode === 0) return { caught: false, how: `${runs} runs` }
  const found = /^A promise was broken after (\d+) runs?.*\n +(.*)$/m.exec(stdout)
  if (found !== null) return { caught: true, how: `after ${found[1]} runs: ${found[2].slice(0, 160)}` }
  const hung = signal !== undefined && signal !== 'SIGABRT' && signal !== 'SIGSEGV'
  return { caught: true, how: hung ? `it hangs (${signal})` : `it crashes: ${lastLine(stderr)}` }
}

const lastLine = (text) =>
  text
    .split('\n')
    .filter((line) => /error/i.test(line))
    .at(-1) ?? 'no message'
