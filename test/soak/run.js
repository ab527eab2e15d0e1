// The soak of the pool: a host process with real workers, under load and random faults. `npm run soak -- --minutes 30 --seed 1`.
// Exits with code 1 after any violation.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { execa } from 'execa'

const HELP = `npm run soak -- --minutes N   soaks a pool for N minutes (1); --seconds N for less
  --seed S          repeats the faults of an earlier run
  --faults N        faults a second (20)
  --deaths N        worker deaths a second, at least (3.2)
  --jobs N          jobs a second (200)
  --missing N       no worker is ended while N workers are missing (4)
  --keep-journal    keeps the journal of the tasks in the temporary folder
`

const { values: given } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    seconds: { type: 'string' },
    seed: { type: 'string' },
    faults: { type: 'string', default: '20' },
    deaths: { type: 'string', default: '3.2' },
    jobs: { type: 'string', default: '200' },
    missing: { type: 'string', default: '4' },
    'keep-journal': { type: 'boolean', default: false },
  },
})
if (given.help) {
  process.stdout.write(HELP)
  process.exit(0)
}
const number = (name) => {
  const value = Number(given[name])
  if (!(value >= 0)) throw new TypeError(`--${name} is a number; it was given ${given[name]}.`)
  return value
}
const seconds = given.seconds === undefined ? (given.minutes === undefined ? 60 : number('minutes') * 60) : number('seconds')
const seed = given.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : number('seed')
const short = seconds < 30
/** ms that a settled job is kept before it is verified and forgotten. */
const keepMs = 20_000
/** ms within which the host exits after its report. */
const EXIT_MS = 10_000
/** ms within which the host reports after the last fault. */
const REPORT_MS = 600_000

const directory = mkdtempSync(join(tmpdir(), 'prefork-soak-'))
const token = randomBytes(8).toString('hex')
const config = {
  seed,
  journal: join(directory, 'journal'),
  keepMs,
  ms: seconds * 1000,
  warmUpMs: short ? 1_000 : Math.min(60_000, seconds * 500),
  roundMs: short ? seconds * 1000 : 300_000,
  forget: !short,
  restMs: short ? 60 : 3_000,
  progressMs: 30_000,
  jobsPerSecond: number('jobs'),
  deathsPerSecond: number('deaths'),
  faultsPerSecond: number('faults'),
  missingAllowed: number('missing'),
}

/** Pids of all processes of this run, orphans included: each has the token in its environment. */
const survivors = () =>
  readdirSync('/proc').filter((entry) => {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) return false
    try {
      return readFileSync(`/proc/${entry}/environ`, 'latin1').includes(token) && !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${entry}/stat`, 'latin1'))
    } catch {
      return false
    }
  })

const mb = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`
const rate = (count, ms) => (count / (ms / 1000)).toFixed(1)
const command = `npm run soak -- ${given.seconds === undefined ? `--minutes ${seconds / 60}` : `--seconds ${seconds}`} --seed ${seed}`

const show = {
  violation(violation) {
    console.log(`VIOLATION ${JSON.stringify(violation)}`)
  },
  rest({ label, seconds: at, rss, heapUsed, descriptors, workers }) {
    console.log(`${String(at).padStart(6)} s  at rest ${label}: rss ${mb(rss)}, heap ${mb(heapUsed)}, ${descriptors} descriptors, ${workers} workers`)
  },
  progress(now) {
    console.log(
      `${String(now.seconds).padStart(6)} s  ${now.faults} faults, ${now.deaths} deaths, ${now.submitted} jobs (${now.succeeded} succeeded, ${now.failed} failed, ` +
        `${now.cancelled} cancelled, ${now.lost} lost), ${now.putBack} put back, ${now.retried} retried, ${now.pending} pending, ${now.watched} in the ledger, ` +
        `at work ${now.atWork.join('+')}, rss ${mb(now.rss)}, ${now.descriptors} descriptors, violations ${now.violations}`,
    )
  },
}

const table = (rows) => {
  const width = Math.max(...rows.map(([name]) => name.length))
  for (const [name, value] of rows) console.log(`  ${name.padEnd(width)}  ${value}`)
}

console.log(`${command}\n  ${config.faultsPerSecond} faults and about ${config.jobsPerSecond} jobs a second`)
const host = execa(process.execPath, ['--expose-gc', fileURLToPath(new URL('./host.js', import.meta.url)), JSON.stringify(config)], {
  stdin: 'ignore',
  env: { PREFORK_SOAK: token },
  // The processes that a dead host leaves are checked below.
  cleanup: false,
  reject: false,
  buffer: { stdout: false },
  timeout: config.ms * 2 + REPORT_MS,
  killSignal: 'SIGKILL',
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => host.kill())
let report
let reportedAt = 0
for await (const line of host) {
  const space = line.indexOf(' ')
  const kind = line.slice(0, space)
  if (kind === 'report') {
    report = JSON.parse(line.slice(space + 1))
    reportedAt = performance.now()
    setTimeout(() => host.kill(), EXIT_MS).unref()
  } else if (kind in show) show[kind](JSON.parse(line.slice(space + 1)))
  else console.log(line)
}
const { exitCode: code, signal, stderr } = await host
const ended = { code, signal }
const exitMs = Math.round(performance.now() - reportedAt)
// Promise 6: the workers of a killed host exit within 2 s, a stopped worker as soon as it continues.
let left = survivors()
if (report === undefined) for (const pid of left) process.kill(Number(pid), 'SIGCONT')
for (let tries = 0; left.length > 0 && tries < 40; tries += 1) {
  await delay(50)
  left = survivors()
}
const problems = []
if (report === undefined) problems.push(`The host ended without a report: ${JSON.stringify(ended)}`)
else if (ended.code !== 0) problems.push(`promise 6: The host did not exit by itself within ${EXIT_MS} ms of its report: ${JSON.stringify(ended)}`)
if (left.length > 0) problems.push(`promise 6: Processes are left: ${left.join(', ')}`)
if (stderr !== '') problems.push(`The host printed on its stderr: ${stderr.slice(0, 10_000)}`)

if (report !== undefined) {
  const { counts, done, rests } = report
  const [first, last] = [rests[0], rests.at(-1)]
  console.log('')
  table([
    ['time under faults', `${(done.ms / 60_000).toFixed(1)} min`],
    ['faults', `${done.faults} (${rate(done.faults, done.ms)} a second)`],
    ['deaths of workers', `${done.deaths} (${rate(done.deaths, done.ms)} a second)`],
    ['jobs', counts.submitted],
    ['succeeded, failed, cancelled, lost', `${counts.succeeded}, ${counts.failed}, ${counts.cancelled}, ${counts.lost}`],
    ['refused by the call', counts.refused],
    ['put back (of them by a death)', `${counts.putBack} (${counts.putBackByDeath})`],
    ['run again by retryLost', counts.retried],
    ['lost without cause', counts.lostWithoutCause],
    ['begun twice', counts.begunTwice],
    ['put back too often', counts.lostUnaccepted],
    ['lost, and never began', counts.lostAndNeverBegan],
    ['left pending', counts.neverSettled],
    ['rss at start and end', `${mb(first.rss)}, ${mb(last.rss)}`],
    ['heap at start and end', `${mb(first.heapUsed)}, ${mb(last.heapUsed)}`],
    ['descriptors at start and end', `${first.descriptors}, ${last.descriptors}`],
    ['descriptors before the pools and after', `${report.before.descriptors}, ${report.after.descriptors}`],
    ['processes left', left.length],
    ['the host exits by itself', ended.code === 0 ? `yes, ${exitMs} ms after its report` : 'no'],
    ['violations', report.violationCount + problems.length],
  ])
  console.log(`\nfaults by kind: ${JSON.stringify(report.kinds)}`)
  console.log(`ends of workers by cause: ${JSON.stringify(report.ends)}`)
  console.log(`failures by kind: ${JSON.stringify(report.failures)}`)
  console.log(`report ${JSON.stringify({ ...report, left: left.length, ended, exitMs })}`)
}
for (const problem of problems) console.log(`VIOLATION ${problem}`)
const failed = problems.length > 0 || report === undefined || report.violationCount > 0
console.log(failed ? `\nFAILED. To repeat the same faults (their timing differs): ${command}` : '\nNo violation.')
if (given['keep-journal']) console.log(`The journal: ${config.journal}`)
else rmSync(directory, { recursive: true, force: true })
process.exitCode = failed ? 1 : 0
