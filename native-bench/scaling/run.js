// The benchmark of a node's scaling: run `npm run bench:scaling -- --help` in the root of the repository.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startServer } from '../faktory/server.js'
import { brokerProblem } from '../farm/queue.js'
import { UsageError } from '../lib/args.js'
import { machineOf } from '../lib/machine.js'
import { endMeasurement, measureOne } from '../lib/measure.js'
import { progressLine } from '../lib/progress.js'
import { machineText } from '../lib/report.js'
import { readScalingArgs, USAGE } from './args.js'
import { BROKERS } from './brokers.js'
import { CASES } from './cases/index.js'
import { scalingTable } from './report.js'

/** @import { BenchServer } from '../faktory/server.js' */
/** @import { ScalingWanted } from './args.js' */
/** @import { Broker, Kind, Plan, ScalingCase, ScalingResults, ScalingVariant, Subject } from './types.js' */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ONE = fileURLToPath(new URL('one.js', import.meta.url))

/** A signal has arrived: what was measured before is printed. */
let interrupted = false

/** @param {string} text */
const printLine = (text) => process.stderr.write(`${text}\n`)

/** The build of a checkout. @param {string} folder */
const distOf = (folder) => {
  const dist = resolve(folder, 'dist')
  if (!existsSync(join(dist, 'index.js')))
    throw new UsageError(`--against: ${folder} has no dist/index.js: name a checkout of prefork, and build it (npm run build)`)
  return dist
}

const fileProblem = () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 13) ? undefined : `it needs Node 22.13 or later, and this is ${process.version}`
}

/** The nodes that take turns. @param {ScalingCase} each @param {string | undefined} against @returns {Record<string, Subject>} */
const subjectsOf = ({ fixed }, against) => {
  const dist = join(ROOT, 'dist')
  return {
    defaults: { title: 'defaults', dist, options: () => ({}) },
    ...(fixed === undefined ? {} : { fixed: { ...fixed, dist } }),
    ...(against === undefined ? {} : { against: { title: 'defaults of the other checkout', dist: against, options: () => ({}) } }),
  }
}

/** Where the measurements take place: `problems` by kind of broker. @typedef {{ folder: string, faktoryUrl: string, against: string | undefined, problems: Partial<Record<Kind, string | undefined>> }} Setting */

/** @param {Plan} plan @param {Broker} broker @param {number} timeout */
const measured = async (plan, broker, timeout) => {
  mkdirSync(plan.folder)
  const answer = await measureOne([JSON.stringify(plan)], timeout, ONE)
  await broker.remove(plan).catch((error) => {
    // The signal has ended the stand-in too.
    if (!interrupted) throw error
  })
  rmSync(plan.folder, { recursive: true, force: true })
  return answer
}

/** All nodes in turn, round by round, into `cells`. One that fails once takes no further part. @param {string} name @param {string} key @param {ScalingWanted} wanted @param {Setting} setting @param {ScalingResults[string][string]} cells @param {(line: string) => void} show */
const runVariant = async (name, key, { rounds, size }, { folder, faktoryUrl, against, problems }, cells, show) => {
  const each = /** @type {ScalingCase} */ (CASES[name])
  const broker = /** @type {Broker} */ (BROKERS[/** @type {ScalingVariant} */ (each.variants[key]).broker])
  const subjects = Object.entries(subjectsOf(each, against))
  const problem = problems[broker.kind]
  for (const [subject] of subjects) cells[subject] = problem === undefined ? { rounds: [] } : { reason: problem }
  for (let round = 1; round <= rounds && !interrupted; round++) {
    // The order changes: one that goes before another may leave the machine busy.
    for (const [subject, { dist, options }] of round % 2 === 1 ? subjects : subjects.toReversed()) {
      const cell = cells[subject]
      if (cell === undefined || !('rounds' in cell)) continue
      show(`${name}/${key}, round ${round} of ${rounds}: ${subject}`)
      const id = `prefork.bench.${randomBytes(6).toString('hex')}`
      const plan = { case: name, variant: key, name: id, folder: join(folder, id), faktoryUrl, dist, options: options(broker.kind), size, round }
      const answer = await measured(plan, broker, each.timeout)
      if (interrupted) return
      if ('metrics' in answer) cell.rounds.push(answer.metrics)
      else cells[subject] = answer
    }
  }
}

/** @param {ScalingWanted} wanted @param {string[]} args @param {Setting} setting @param {boolean} isReal whether the Faktory server is a real one @param {ScalingResults} results */
const printResults = (wanted, args, { against }, isReal, results) => {
  const machine = { ...machineOf(args), command: ['npm run bench:scaling', ...(args.length > 0 ? ['--', ...args] : [])].join(' ') }
  const faktory = isReal ? 'a real server' : 'the stand-in of the tests'
  const smaller = wanted.size === 'smoke' ? ' With --smoke jobs are fewer and shorter than below.' : ''
  const about = `Medians of ${wanted.rounds} round${wanted.rounds > 1 ? 's' : ''}, in brackets the least and the most. Faktory: ${faktory}.${smaller}`
  const tables = Object.entries(results).map(([name, cells]) => {
    const each = /** @type {ScalingCase} */ (CASES[name])
    return scalingTable(each, cells, subjectsOf(each, against))
  })
  console.log([machineText(machine), about, ...tables].join('\n\n'))
  if (wanted.json !== undefined) writeFileSync(wanted.json, `${JSON.stringify({ machine, faktory, rounds: wanted.rounds, against, results }, null, 2)}\n`)
}

/** @type {BenchServer | undefined} */
let server
/** @type {string | undefined} */
let folder

const main = async () => {
  const args = process.argv.slice(2)
  const wanted = readScalingArgs(args, CASES)
  if (wanted.help) {
    console.log(`${USAGE}\n\ncases: ${Object.keys(CASES).join(', ')}`)
    return
  }
  const against = wanted.against === undefined ? undefined : distOf(wanted.against)
  server = await startServer()
  mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true })
  folder = mkdtempSync(join(ROOT, 'node_modules/.cache/prefork-scaling-'))
  const rabbitProblem = await brokerProblem()
  const amqp = rabbitProblem === undefined ? undefined : `RabbitMQ cannot be reached (${rabbitProblem}); RABBITMQ_URL names another`
  const setting = { folder, faktoryUrl: server.url, against, problems: { amqp, queue: fileProblem() } }
  const { show, end } = progressLine(process.stderr)
  /** @type {ScalingResults} */
  const results = {}
  /** @type {string[]} */
  const failures = []
  for (const [name, variants] of wanted.cases) {
    const cells = /** @type {ScalingResults[string]} */ ({})
    results[name] = cells
    for (const key of interrupted ? [] : variants) {
      const own = /** @type {ScalingResults[string][string]} */ ({})
      cells[key] = own
      await runVariant(name, key, wanted, setting, own, show)
      const missing = Object.values(setting.problems)
      for (const [subject, cell] of Object.entries(own))
        if ('reason' in cell && !missing.includes(cell.reason)) failures.push(`${name}/${key}, ${subject}, failed: ${cell.reason}`)
    }
  }
  end()
  printResults(wanted, args, setting, server.isReal, results)
  for (const failure of failures) printLine(failure)
  if (failures.length > 0) process.exitCode = 1
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  // npm passes on a signal that has reached the group already.
  process.on(signal, () => {
    interrupted = true
    process.exitCode = signal === 'SIGINT' ? 130 : 143
    endMeasurement()
  })
}

try {
  await main()
} catch (error) {
  printLine(error instanceof UsageError ? error.message : String(/** @type {Error} */ (error)?.stack ?? error))
  process.exitCode = error instanceof UsageError ? 64 : 1
} finally {
  await server?.stop()
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
}
