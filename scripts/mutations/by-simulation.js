import { join } from 'node:path'
import { execa } from 'execa'
import { bundle } from '../bundle.js'

/** Fixed, so that the figures in docs/reliability.md can be had again. */
const SEED = 1
const RUNS = 3_000
/** Of CPU, for time in the simulation is not the machine's: a busy machine catches nothing. */
const CPU_SECONDS = 400
const WITHIN = 3_600_000

/** Plays runs over the broken copy until one fails. A simulation that hangs or crashes has failed, too. */
export const bySimulation = async ({ root }, _mutation) => {
  const file = join(root, 'simulation.mjs')
  try {
    await bundle(root, 'test/simulation/main.ts', file)
  } catch {
    return { caught: false, how: 'does not build' }
  }
  const args = [process.execPath, '--enable-source-maps', file, '--first', '--seed', String(SEED), '--runs', String(RUNS)]
  const limited = ['-c', `ulimit -t ${CPU_SECONDS}; exec "$0" "$@"`, ...args]
  const { exitCode, signal, stdout, stderr } = await execa('sh', limited, { cwd: root, reject: false, timeout: WITHIN, killSignal: 'SIGKILL' })
  if (exitCode === 0) return { caught: false, how: `${RUNS} runs` }
  const told = /^A promise was broken after (\d+) runs?.*\n +(.*)$/m.exec(stdout)
  if (told !== null) return { caught: true, how: `after ${told[1]} runs: ${told[2].slice(0, 160)}` }
  const hung = signal !== undefined && signal !== 'SIGABRT' && signal !== 'SIGSEGV'
  return { caught: true, how: hung ? `it hangs (${signal})` : `it crashes: ${lastLine(stderr)}` }
}

const lastLine = (text) =>
  text
    .split('\n')
    .filter((line) => /error/i.test(line))
    .at(-1) ?? 'without a word'
