// The benchmark of the queue: run `npm run bench:queue -- --help` in the root of the repository.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { UsageError } from '../lib/args.js'
import { machineOf } from '../lib/machine.js'
import { endMeasurement, measureOne } from '../lib/measure.js'
import { progressLine } from '../lib/progress.js'
import { machineText } from '../lib/report.js'
import { spread } from '../lib/statistics.js'
import { readQueueArgs, USAGE } from './args.js'
import { CASES } from './cases/index.js'
import { diskProblem, fsyncMs } from './disk.js'
import { evaluateGoals } from './goals.js'
import { caseTable, goalsTable } from './report.js'
import { SERVERS, serverProblem } from './servers.js'

/** @import { Cell, Metrics } from '../types.js' */
/** @import { QueueWanted } from './args.js' */
/** @import { QueueCase, QueueResults, QueueVariant } from './types.js' */

const here = fileURLToPath(new URL('..', import.meta.url))
const ONE = fileURLToPath(new URL('one.js', import.meta.url))
const PEERS = Object.values(CASES).flatMap(({ variants }) => Object.entries(variants).flatMap(([key, { server }]) => (server === undefined ? [] : [key])))

/** @param {string} text */
const printLine = (text) => process.stderr.write(`${text}\n`)

const checkNode = () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 13)) return
  throw new UsageError(`the queue's store in a file needs Node 22.13 or later, and this is ${process.version}: put a later one first on the PATH`)
}

/** The peers whose servers are there; their packages are installed at their first use. @param {QueueWanted} wanted */
const usablePeers = async (wanted) => {
  const peers = wanted.cases.includes('drain') ? wanted.peers : []
  if (peers.length > 0 && !existsSync(`${here}node_modules/bullmq`)) {
    const { failed } = await execa('npm', ['ci', '--prefix', here, '--no-audit', '--no-fund'], { stdio: ['ignore', 2, 2], reject: false })
    if (failed) throw new UsageError('the peers cannot be installed (npm ci in native-bench): --peers none does without')
  }
  /** @type {string[]} */
  const usable = []
  for (const [name, { title, variable }] of Object.entries(SERVERS)) {
    const server = /** @type {keyof typeof SERVERS} */ (name)
    const needing = peers.filter((peer) => CASES.drain?.variants[peer]?.server === server)
    const problem = needing.length === 0 ? undefined : await serverProblem(server)
    if (problem === undefined) usable.push(...needing)
    else printLine(`without ${needing.join(' and ')}: ${title} is not reachable (${problem}); ${variable} names another`)
  }
  return usable
}

/** An empty folder on the disk that is measured. @param {QueueWanted} wanted */
const makeFolder = ({ folder = join(here, '../node_modules/.cache') }) => {
  mkdirSync(folder, { recursive: true })
  return mkdtempSync(join(folder, 'prefork-bench-'))
}

/** @param {Metrics[]} rounds @returns {Cell} */
const cellOf = (rounds) => ({
  metrics: Object.fromEntries(Object.keys(rounds[0] ?? {}).map((name) => [name, spread(rounds.map((metrics) => metrics[name] ?? Number.NaN))])),
})

/** All variants in turn, round by round, into `cells`. One that fails once takes no further part. @param {string} name @param {[string, QueueVariant][]} variants @param {QueueWanted} wanted @param {string} folder @param {Record<string, Cell>} cells @param {(line: string) => void} progress */
const runCase = async (name, variants, wanted, folder, cells, progress) => {
  const { maxRounds = wanted.rounds, timeout = 60 } = CASES[name] ?? {}
  /** @type {Map<string, Metrics[]>} */
  const figures = new Map(variants.map(([key]) => [key, []]))
  const rounds = Math.min(wanted.rounds, maxRounds)
  for (let round = 1; round <= rounds; round++) {
    for (const [key, got] of figures) {
      progress(`${name}, round ${round} of ${rounds}: ${key}`)
      const own = mkdtempSync(join(folder, `${name}-`))
      const answer = await measureOne([name, key, own, wanted.size], timeout, ONE)
      rmSync(own, { recursive: true, force: true })
      if ('metrics' in answer) {
        got.push(answer.metrics)
        cells[key] = cellOf(got)
      } else {
        cells[key] = answer
        figures.delete(key)
      }
    }
  }
}

/** @param {QueueWanted} wanted @param {string} folder @param {QueueResults} results */
const runCases = async (wanted, folder, results) => {
  const peers = await usablePeers(wanted)
  const { show, end } = progressLine(process.stderr)
  for (const name of wanted.cases) {
    const variants = Object.entries(CASES[name]?.variants ?? {}).filter(([key, { server }]) => server === undefined || peers.includes(key))
    /** @type {Record<string, Cell>} */
    const cells = {}
    results[name] = cells
    await runCase(name, variants, wanted, folder, cells, show)
  }
  end()
}

/** Also of a run that was interrupted. @param {QueueWanted} wanted @param {string[]} args @param {{ before: number, after: number }} fsync @param {QueueResults} results */
const printResults = (wanted, args, fsync, results) => {
  const goals = wanted.size === 'smoke' ? [] : evaluateGoals(results, diskProblem(fsync.before) === undefined)
  const machine = { ...machineOf(args), command: ['npm run bench:queue', ...(args.length > 0 ? ['--', ...args] : [])].join(' ') }
  if (wanted.json) {
    console.log(JSON.stringify({ machine, fsync, rounds: wanted.rounds, results, goals }, null, 2))
    return
  }
  const rounds = `${wanted.rounds} round${wanted.rounds > 1 ? 's' : ''}`
  const disk = `A write is durable after ${fsync.before.toFixed(2)} ms (${Number.isNaN(fsync.after) ? 'interrupted' : `${fsync.after.toFixed(2)} ms after the run`}). Medians of ${rounds}, in brackets the least and the most.`
  const tables = Object.entries(results).map(([name, cells]) => caseTable(/** @type {QueueCase} */ (CASES[name]), cells))
  console.log([machineText(machine), disk, ...tables, ...(goals.length > 0 ? [goalsTable(goals)] : [])].join('\n\n'))
}

/** The folder of the current run; removed also when it is interrupted. @type {string | undefined} */
let folder
const removeFolder = () => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
}

/** What an interruption prints. */
let interrupted = () => {}

const main = async () => {
  const args = process.argv.slice(2)
  const wanted = readQueueArgs(args, Object.keys(CASES), PEERS)
  if (wanted.help) {
    console.log(`${USAGE}\n\ncases: ${Object.keys(CASES).join(', ')}\npeers: ${PEERS.join(', ')}`)
    return
  }
  checkNode()
  folder = makeFolder(wanted)
  const before = fsyncMs(folder)
  const problem = diskProblem(before)
  if (problem !== undefined && wanted.size !== 'smoke') printLine(`!!! THE RATIOS TO ONE TRANSACTION A JOB MEAN NOTHING HERE: ${problem}`)
  /** @type {QueueResults} */
  const results = {}
  interrupted = () => printResults(wanted, args, { before, after: Number.NaN }, results)
  await runCases(wanted, folder, results)
  interrupted = () => {}
  printResults(wanted, args, { before, after: fsyncMs(folder) }, results)
  const failures = Object.entries(results).flatMap(([name, cells]) =>
    Object.entries(cells).flatMap(([key, cell]) => ('reason' in cell ? [{ key, text: `${key} failed in ${name}: ${cell.reason}` }] : [])),
  )
  for (const { text } of failures) printLine(text)
  // A failure of a peer is a result, one of prefork an error.
  if (failures.some(({ key }) => !PEERS.includes(key))) process.exitCode = 1
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.once(signal, () => {
    endMeasurement()
    interrupted()
    removeFolder()
    process.exit(signal === 'SIGINT' ? 130 : 143)
  })
}

try {
  await main()
} catch (error) {
  printLine(error instanceof UsageError ? error.message : String(/** @type {Error} */ (error)?.stack ?? error))
  process.exitCode = error instanceof UsageError ? 64 : 1
} finally {
  removeFolder()
}
