// Where the time from createPool to the first result goes: `node native-bench/start-phases.js [rounds] [folder of the build]`. Medians of fresh processes, ms.
// On a busy machine: `chrt -r 5 node native-bench/start-phases.js`, as root.
import { readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROUNDS = 15
const self = fileURLToPath(import.meta.url)
const now = () => performance.timeOrigin + performance.now()
const evaluated = now()

/** The task of the worker. */
export const times = () => ({
  started: performance.timeOrigin,
  booted: performance.timeOrigin + performance.nodeTiming.bootstrapComplete,
  evaluated,
  called: now(),
  cpu: Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
})

const PHASES = [
  'createPool until the process starts',
  'Node starts',
  "the worker's files, until the task module",
  'until the worker is up',
  'until the task runs',
  'until its result',
]
const NAMES = [...PHASES, 'all', "CPU of the worker's main thread"]

/** @param {string} dist */
const host = async (dist) => {
  const { createPool } = await import(pathToFileURL(`${dist}/index.js`).href)
  const began = now()
  const pool = await createPool({ tasks: import.meta.url, workers: 2 })
  const up = now()
  /** @type {ReturnType<typeof times>} */
  const worker = await pool.run('times', [])
  const marks = [began, worker.started, worker.booted, worker.evaluated, up, worker.called, now()]
  const phases = PHASES.map((_, i) => /** @type {number} */ (marks[i + 1]) - /** @type {number} */ (marks[i]))
  console.log(JSON.stringify([...phases, phases.reduce((sum, ms) => sum + ms, 0), worker.cpu]))
  await pool.close()
}

/** @param {string} rounds @param {string} dist */
const main = async (rounds, dist) => {
  // Node 20 reads such a bundle at every start.
  const env = { NODE_EXTRA_CA_CERTS: undefined }
  // Not at the top: the worker loads this file, too.
  const { execa } = await import('execa')
  /** @type {number[][]} */
  const all = []
  // The first makes the code cache.
  for (let round = 0; round <= Number(rounds); round++) {
    const { stdout } = await execa(process.execPath, [self, 'host', dist], { env })
    if (round > 0) all.push(JSON.parse(stdout))
  }
  console.log(`Node ${process.version}, medians of ${all.length}, ms`)
  NAMES.forEach((name, i) => {
    const sorted = all.map((row) => /** @type {number} */ (row[i])).sort((a, b) => a - b)
    console.log(`${/** @type {number} */ (sorted[sorted.length >> 1]).toFixed(1).padStart(6)}  ${name}`)
  })
}

const [, program, first = String(ROUNDS), second = fileURLToPath(new URL('../dist', import.meta.url))] = process.argv
if (program === self) await (first === 'host' ? host(second) : main(first, second))
