// The benchmark: run `npm run bench -- --help` in the root of the repository.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { CASES } from './cases/index.js'
import { BROKER_URL, brokerProblem } from './farm/queue.js'
import { buildCFloor } from './floor/c-floor.js'
import { readArgs, USAGE, UsageError } from './lib/args.js'
import { barsText, chartsOf } from './lib/charts.js'
import { machineOf } from './lib/machine.js'
import { endMeasurement, measureOne } from './lib/measure.js'
import { jsonOf, pageText, replacePart } from './lib/page.js'
import { progressLine } from './lib/progress.js'
import { caseReports, configurations, machineText, targetsTable } from './lib/report.js'
import { runAll } from './lib/run.js'
import { svgSheet } from './lib/svg.js'
import { evaluate } from './lib/targets.js'
import { View } from './lib/view.js'
import { POOLS } from './pools/index.js'

/** @import { Wanted } from './lib/args.js' */
/** @import { Chart } from './lib/charts.js' */
/** @import { Run } from './types.js' */

// Node 20 reads such a bundle at every start: 50 ms that are no pool's.
delete process.env.NODE_EXTRA_CA_CERTS

const here = fileURLToPath(new URL('.', import.meta.url))
const PAGE = `${here}../docs/benchmarks.md`
const CHART = 'benchmarks.svg'
const SUMMARY = 'benchmarks-summary.svg'
const FIGURES = 'benchmarks.json'
/** The cases in the chart; the tables have all of them. */
const PICTURE = ['noop', 'rtt', 'objects', 'buffers', 'mixed', 'start', 'queued']
/** The two panels at the head of README. */
const SUMMARISED = ['noop', 'objects']

/** @param {string} text */
const printLine = (text) => process.stderr.write(`${text}\n`)

/** @param {Wanted} wanted */
const checkBroker = async (wanted) => {
  if (!wanted.cases.includes('farm')) return
  const problem = await brokerProblem()
  if (problem === undefined) return
  printLine(`!!! WITHOUT THE FARM: there is no RabbitMQ at ${BROKER_URL.replace(/:[^:@/]*@/, ':***@')} (${problem}); RABBITMQ_URL names another`)
  wanted.cases = wanted.cases.filter((name) => name !== 'farm')
}

/** Installs the peers at their first use: they are no dependencies of the library. @param {Wanted} wanted */
const prepare = async (wanted) => {
  if (!existsSync(`${here}../dist/index.js`)) throw new UsageError('there is no dist/: run the benchmark as `npm run bench` in the root, or build first')
  const packages = wanted.pools.some((name) => POOLS[name]?.imports !== undefined && POOLS[name].kind !== 'prefork')
  if (packages && !existsSync(`${here}node_modules`)) {
    // Its output goes to stderr: stdout is for the results.
    const { failed } = await execa('npm', ['ci', '--prefix', here, '--no-audit', '--no-fund'], { stdio: ['ignore', 2, 2], reject: false })
    if (failed) throw new UsageError('the peers cannot be installed (npm ci in native-bench)')
  }
  if (!wanted.pools.includes('c-floor')) return
  const problem = buildCFloor()
  if (problem === undefined) return
  printLine(`!!! WITHOUT THE FLOOR IN C: it cannot be built here (${problem})`)
  wanted.pools = wanted.pools.filter((name) => name !== 'c-floor')
}

/** Measures the chosen cases. @param {Wanted} wanted @param {string[]} args @returns {Promise<Run>} */
const measure = async (wanted, args) => {
  await prepare(wanted)
  await checkBroker(wanted)
  const machine = machineOf(args)
  const progress = progressLine(process.stderr)
  const results = await runAll(wanted, CASES, POOLS, measureOne, progress.show)
  progress.end()
  const beside = wanted.quick && wanted.all && wanted.rounds > 1 ? ' of throughput, round trips and starts; of one of the others' : ''
  return { machine, rounds: `Medians of ${wanted.rounds} round${wanted.rounds > 1 ? 's' : ''}${beside}.`, results }
}

const main = async () => {
  const args = process.argv.slice(2)
  const wanted = readArgs(args, Object.keys(CASES), POOLS)
  if (wanted.help) {
    console.log(USAGE)
    console.log(`\ncases: ${Object.keys(CASES).join(', ')}`)
    console.log(`pools: ${Object.keys(POOLS).join(', ')}`)
    return
  }
  /** @type {Run} */
  const run = wanted.from === undefined ? await measure(wanted, args) : JSON.parse(readFileSync(wanted.from, 'utf8'))
  const { machine, rounds, results } = run

  const evaluations = evaluate(new View(results, POOLS))
  const charts = Object.values(CASES).flatMap((each) => chartsOf(each, results, POOLS).map((chart) => ({ name: each.name, chart })))
  if (wanted.json) {
    const targets = evaluations.map(({ text, sense, bound, unit, found, met }) => ({ text, sense, bound, unit, ...found, met }))
    console.log(JSON.stringify({ machine, rounds, results, targets }, null, 2))
  } else {
    const reports = caseReports(CASES, results, POOLS)
    const bars = charts.map(({ chart }) => barsText(chart))
    console.log([machineText(machine), rounds, ...reports, configurations(POOLS), ...bars, targetsTable(evaluations)].join('\n\n'))
  }
  if (wanted.write) {
    const caption = `prefork's benchmark, ${machine.date}, commit ${machine.commit}, Node ${machine.node}, ${machine.cores} cores; medians`
    /** @param {string[]} names @returns {Chart[]} */
    const those = (names) => charts.filter(({ name }) => names.includes(name)).map(({ chart }) => chart)
    writeFileSync(`${here}../docs/${CHART}`, svgSheet(those(PICTURE), caption))
    writeFileSync(`${here}../docs/${SUMMARY}`, svgSheet(those(SUMMARISED), caption))
    writeFileSync(`${here}../docs/${FIGURES}`, jsonOf(run))
    const text = pageText(run, evaluations, CASES, POOLS, { chart: CHART, figures: FIGURES })
    writeFileSync(PAGE, replacePart(readFileSync(PAGE, 'utf8'), text))
    printLine(`written: docs/benchmarks.md, docs/${CHART}, docs/${SUMMARY}, docs/${FIGURES}`)
  }
  const broken = brokenCases(results)
  for (const line of broken) printLine(line)
  if (broken.length > 0) process.exitCode = 1
}

/** The cases in which prefork failed. A failure of a peer is a result, one of prefork an error. @param {import('./types.js').Results} results */
const brokenCases = (results) =>
  Object.entries(results).flatMap(([name, variants]) =>
    Object.entries(variants).flatMap(([variant, cells]) =>
      Object.entries(cells).flatMap(([pool, cell]) =>
        POOLS[pool]?.kind === 'prefork' && 'reason' in cell ? [`${pool} failed in ${name} (${variant}): ${cell.reason}`] : [],
      ),
    ),
  )

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.once(signal, () => {
    endMeasurement()
    process.exit(signal === 'SIGINT' ? 130 : 143)
  })
}

main().catch((error) => {
  printLine(error instanceof UsageError ? error.message : (error?.stack ?? String(error)))
  process.exitCode = error instanceof UsageError ? 64 : 1
})
