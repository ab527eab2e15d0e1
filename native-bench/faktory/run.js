// The benchmark of nodes on a Faktory server: run `npm run bench:faktory -- --help` in the root of the repository.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { UsageError } from '../lib/args.js'
import { machineOf } from '../lib/machine.js'
import { endMeasurement, measureOne } from '../lib/measure.js'
import { progressLine } from '../lib/progress.js'
import { machineText } from '../lib/report.js'
import { spread } from '../lib/statistics.js'
import { caseTable, goalsTable } from '../queue/report.js'
import { JOBS, readFaktoryArgs, USAGE } from './args.js'
import { evaluateGoals } from './goals.js'
import { startServer } from './server.js'
import { VARIANTS } from './variants/index.js'

/** @import { FaktoryWanted } from './args.js' */
/** @import { BenchServer } from './server.js' */
/** @import { FaktoryResults, Metrics } from './types.js' */

const here = fileURLToPath(new URL('..', import.meta.url))
const ONE = fileURLToPath(new URL('one.js', import.meta.url))
/** s after which a measurement has hung. */
const TIMEOUT = 150

const SHAPE = {
  title: 'No-ops from a full queue of a Faktory server',
  about: 'Jobs that were pushed before are run and acknowledged. The server shares the cores with them: the figures of a busy machine say little.',
  timeout: TIMEOUT,
  variants: Object.fromEntries(Object.entries(VARIANTS).map(([key, { title }]) => [key, { title, measure: async () => ({}) }])),
  metrics: {
    perSecond: { title: 'jobs', unit: '/s', digits: 0, better: /** @type {const} */ ('more') },
    micros: { title: 'CPU of each, workers included', unit: 'µs', digits: 0, better: /** @type {const} */ ('less') },
  },
}

/** @param {string} text */
const printLine = (text) => process.stderr.write(`${text}\n`)

/** The package of the peer is installed at its first use. */
const installPeer = async () => {
  if (existsSync(`${here}node_modules/faktory-worker`)) return
  const { failed } = await execa('npm', ['ci', '--prefix', here, '--no-audit', '--no-fund'], { stdio: ['ignore', 2, 2], reject: false })
  if (failed) throw new UsageError('faktory-worker cannot be installed (npm ci in native-bench): --no-peer does without')
}

/** All variants in turn, round by round, into `results`. One that fails once takes no further part. @param {FaktoryWanted} wanted @param {BenchServer} server @param {FaktoryResults} results */
const runRounds = async (wanted, server, results) => {
  const { show, end } = progressLine(process.stderr)
  /** @type {Map<string, Metrics[]>} */
  const figures = new Map(Object.entries(VARIANTS).flatMap(([key, { peer }]) => (peer && !wanted.peer ? [] : [[key, []]])))
  for (let round = 1; round <= wanted.rounds; round++) {
    for (const [key, got] of figures) {
      show(`round ${round} of ${wanted.rounds}: ${key}`)
      const answer = await measureOne([key, server.url, String(wanted.connections), String(JOBS[wanted.size])], TIMEOUT, ONE)
      if ('metrics' in answer) {
        got.push(answer.metrics)
        results[key] = { metrics: Object.fromEntries(Object.keys(SHAPE.metrics).map((name) => [name, spread(got.map((each) => each[name] ?? Number.NaN))])) }
      } else {
        results[key] = answer
        figures.delete(key)
      }
    }
  }
  end()
}

/** @param {FaktoryWanted} wanted @param {string[]} args @param {boolean} isReal @param {FaktoryResults} results */
const printResults = (wanted, args, isReal, results) => {
  const goals = wanted.size === 'smoke' ? [] : evaluateGoals(results, isReal)
  const machine = { ...machineOf(args), command: ['npm run bench:faktory', ...(args.length > 0 ? ['--', ...args] : [])].join(' ') }
  const server = isReal ? 'real' : 'stand-in'
  if (wanted.json) {
    console.log(JSON.stringify({ machine, server, rounds: wanted.rounds, connections: wanted.connections, results, goals }, null, 2))
    return
  }
  const rounds = `${wanted.rounds} round${wanted.rounds > 1 ? 's' : ''}`
  const about = `${isReal ? 'A real server.' : 'The stand-in of the tests, on which the goals are not judged.'} ${wanted.connections} connections fetch. Medians of ${rounds}, in brackets the least and the most.`
  const table = goalsTable(goals).replaceAll('not on this disk', 'not judged')
  console.log([machineText(machine), about, caseTable(SHAPE, results), ...(goals.length > 0 ? [table] : [])].join('\n\n'))
}

/** @type {BenchServer | undefined} */
let server

const main = async () => {
  const args = process.argv.slice(2)
  const wanted = readFaktoryArgs(args)
  if (wanted.help) {
    console.log(USAGE)
    return
  }
  if (wanted.peer) await installPeer()
  server = await startServer()
  /** @type {FaktoryResults} */
  const results = {}
  await runRounds(wanted, server, results)
  printResults(wanted, args, server.isReal, results)
  for (const [key, cell] of Object.entries(results)) {
    if (!('reason' in cell)) continue
    printLine(`${key} failed: ${cell.reason}`)
    // A failure of the peer is a result, one of prefork an error.
    if (VARIANTS[key]?.peer !== true) process.exitCode = 1
  }
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.once(signal, () => {
    endMeasurement()
    process.exit(signal === 'SIGINT' ? 130 : 143)
  })
}

try {
  await main()
} catch (error) {
  printLine(error instanceof UsageError ? error.message : String(/** @type {Error} */ (error)?.stack ?? error))
  process.exitCode = error instanceof UsageError ? 64 : 1
} finally {
  await server?.stop()
}
