/** `npm run soak:farm -- --jobs 20000 [--seed N]`, `npm run soak:farm -- --shutdowns 50`. Ends with code 1 on any violation. */
import { parseArgs } from 'node:util'
import { type PrivateBroker, privateBroker } from '../amqp/private-broker.js'
import { serverBinary } from '../amqp/server.js'
import { runShutdowns } from './shutdowns.js'
import { runFarmSoak } from './soak.js'

const HELP = `npm run soak:farm -- --jobs N        two nodes under faults, N jobs (20000)
  --seed S                           repeats the faults of an earlier run
  --keep-journal                     keeps the journal of the tasks in the temporary folder
npm run soak:farm -- --shutdowns N   N shutdowns in a row under load
`

const { values: given } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    jobs: { type: 'string' },
    seed: { type: 'string' },
    shutdowns: { type: 'string' },
    'keep-journal': { type: 'boolean', default: false },
  },
})
if (given.help) {
  process.stdout.write(HELP)
  process.exit(0)
}
const number = (name: 'jobs' | 'seed' | 'shutdowns', otherwise: number): number => {
  const value = Number(given[name] ?? otherwise)
  if (!(value > 0)) throw new TypeError(`--${name} is a number; it was given ${given[name]}.`)
  return value
}
const began = performance.now()
const log = (line: string): void => console.log(`${((performance.now() - began) / 1_000).toFixed(0).padStart(6)} s  ${line}`)

const table = (rows: readonly (readonly [string, unknown])[]): void => {
  const width = Math.max(...rows.map(([name]) => name.length))
  for (const [name, value] of rows) console.log(`  ${name.padEnd(width)}  ${String(value)}`)
}

const soak = async (broker: PrivateBroker): Promise<boolean> => {
  const seed = number('seed', Math.floor(Math.random() * 2 ** 31) + 1)
  const jobs = number('jobs', 20_000)
  const command = `npm run soak:farm -- --jobs ${jobs} --seed ${seed}`
  console.log(command)
  const report = await runFarmSoak(
    {
      jobs,
      seed,
      url: broker.url,
      poisonEvery: 500,
      longest: 120,
      killEvery: 1_000,
      nodeShare: 0.3,
      cutEvery: 3_000,
      maxKills: Number.POSITIVE_INFINITY,
      maxCuts: Number.POSITIVE_INFINITY,
      restartBroker: () => broker.restart(),
    },
    log,
    given['keep-journal'],
  )
  const { again } = report
  console.log('')
  table([
    ['time', `${report.seconds.toFixed(0)} s`],
    ['workers killed, nodes killed', `${report.workersKilled}, ${report.nodesKilled}`],
    ['connections cut, restarts of the broker', `${report.cuts}, ${report.brokerRestarts}`],
    ['jobs', jobs],
    ['completed', report.completed],
    ['poison jobs, all dead-lettered as lost', report.poisonDead],
    ['runs of poison jobs', report.beginningsOfPoison],
    ['other dead letters: their workers were killed 3 times', `${report.unlucky.length} ${report.unlucky.map(({ id }) => id).join(' ')}`],
    ['ran more than once, without poison jobs', report.ranAgain],
    ['runs after the first: worker or node killed', again.died],
    ['… connection cut before the acknowledgement arrived', again.cut],
    ['… stored twice, because a confirm was lost', again['stored twice']],
    ['dead letters stored twice', report.deadTwice],
    ['redelivered jobs recognised and not run again', report.recognised],
    ['longest time from the end of a job to the fault that ran it again, ms', report.latestAck],
    ['left in the queue', report.left],
    ['violations', report.violations.length],
  ])
  for (const violation of report.violations.slice(0, 50)) console.log(`VIOLATION ${violation}`)
  console.log(`report ${JSON.stringify({ ...report, violations: report.violations.length })}`)
  if (report.violations.length > 0) console.log(`FAILED. To repeat the same faults (their timing differs): ${command}`)
  return report.violations.length === 0 && report.left === 0
}

const shutdowns = async (broker: PrivateBroker): Promise<boolean> => {
  const report = await runShutdowns(number('shutdowns', 50), broker.url, log)
  table(Object.entries(report).filter(([name]) => name !== 'violations'))
  for (const violation of report.violations) console.log(`VIOLATION ${violation}`)
  return report.violations.length === 0
}

if (serverBinary === undefined) throw new Error('The soak starts a RabbitMQ of its own, and rabbitmq-server is not installed.')
const broker = await privateBroker(serverBinary, { consumerTimeout: 1_800_000 })
// The exit handler of the private broker stops it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
let fine = false
try {
  fine = await (given.shutdowns === undefined ? soak(broker) : shutdowns(broker))
} finally {
  await broker.remove()
}
process.exit(fine ? 0 : 1)
