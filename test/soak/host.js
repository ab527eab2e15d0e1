// The host process of the soak: pools, load, faults and the ledger. Its argument is the configuration as JSON. It prints lines of
// `kind JSON` and must exit by itself.
import { writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from 'prefork'
import { children, descriptors, listeners, sharedFiles } from '../fixtures/hosts/resources.js'
import { Faults } from './faults.js'
import { Ledger } from './ledger.js'
import { Load } from './load.js'
import { randomOf } from './random.js'

const config = JSON.parse(process.argv[2])
const MB = 2 ** 20
/** ms within which every submitted job settles once the load has stopped. */
const QUIET_MS = 60_000
/** ms to wait for each further condition once one has timed out. */
const BROKEN_MS = 3_000

const print = (kind, value) => writeSync(1, `${kind} ${JSON.stringify(value)}\n`)

const random = randomOf(config.seed)
const ledger = new Ledger(config.journal, config.keepMs, (violation) => print('violation', violation))
const common = {
  tasks: new URL('./tasks.js', import.meta.url),
  env: { ...process.env, PREFORK_SOAK_JOURNAL: config.journal },
  cancelGrace: 200,
}
const heap = ['--max-old-space-size=40']
/** High enough that no job of these pools is given up for its put-backs; the third pool keeps the default of 5. */
const maxPutBacks = 1_000
const shapes = [
  { name: 'single', size: 4, options: { workers: 4, output: 'ignore', execArgv: heap, maxPutBacks } },
  { name: 'shared', size: 2, options: { workers: 2, concurrency: 4, output: 'capture', execArgv: heap, maxQueue: 200, maxPutBacks } },
  {
    name: 'scaled',
    size: 2,
    memory: true,
    freezes: true,
    options: {
      workers: { min: 1, max: 2 },
      dispatch: 'fast',
      output: 'ignore',
      execArgv: heap,
      keepAlive: 1_000,
      maintainInterval: 500,
      heartbeatInterval: 200,
      heartbeatTimeout: 6_000,
      maxJobsPerWorker: 300,
      maxMemoryPerWorker: 300 * MB,
      hardMemoryLimit: 350 * MB,
    },
  },
]

const before = { descriptors: descriptors(), listeners: listeners() }
const pools = []
for (const { name, size, memory, freezes, options } of shapes) {
  const pool = await createPool({ ...common, ...options })
  pools.push({ name, size, wanted: size, memory, freezes, pool, options })
  ledger.watch(name, pool, options)
}
const load = new Load(ledger, random, pools, config.jobsPerSecond)
const faults = new Faults(ledger, load, random, pools, {
  perSecond: config.faultsPerSecond,
  missingAllowed: config.missingAllowed,
  deathsPerSecond: config.deathsPerSecond,
})

const journalTimer = setInterval(() => ledger.readJournal(), 250)
const sweepTimer = setInterval(() => ledger.sweep(), 1_000)

/** A condition has timed out: the run ends early. */
let broken = false
const waitUntil = async (what, check, limit = QUIET_MS) => {
  const ms = broken ? Math.min(limit, BROKEN_MS) : limit
  const end = performance.now() + ms
  while (!check()) {
    if (performance.now() > end) {
      broken = true
      ledger.violation(`timed out after ${ms} ms: ${what}`)
      return
    }
    await delay(20)
  }
}
/** Reports a pool call that rejects or stays pending. */
const settles = async (what, promise) => {
  let settled = false
  promise.then(
    () => {
      settled = true
    },
    (error) => {
      settled = true
      ledger.violation(`${what} failed: ${error?.stack}`)
    },
  )
  await waitUntil(`${what} has settled`, () => settled)
}

/** Waits until every job has settled, every worker is up and each one answers; then memory and descriptors can be compared. */
const rest = async (label) => {
  load.stop()
  faults.stop()
  await waitUntil('every job has settled', () => ledger.allPending === 0 && load.open.size === 0)
  for (const pool of pools) {
    pool.wanted = pool.size
    pool.pool.resize(pool.size)
  }
  await waitUntil('the restarts are over', () => faults.restarts.size === 0 && faults.stopped === 0)
  const least = (pool) => pool.options.workers?.min ?? pool.size
  const whole = ({ pool, ...target }) => {
    const { workers } = pool.stats()
    return workers.length === least(target) && workers.every((worker) => worker.state === 'up')
  }
  await waitUntil('the fleets are whole', () => pools.every(whole))
  for (const target of pools) {
    const answered = target.pool.broadcast('pidOf', []).then((pids) => {
      if (new Set(pids).size !== least(target)) ledger.violation(`${target.name}: a broadcast at rest was answered by ${pids}`)
    })
    await settles(`a broadcast of ${target.name} at rest`, answered)
  }
  ledger.compare()
  // Jobs that the ledger still keeps would be counted as memory of the pool.
  if (config.forget) await waitUntil('every job has been verified', () => ledger.jobs.size === 0)
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.()
    await delay(config.restMs / 3)
  }
  const { rss, heapUsed, external } = process.memoryUsage()
  const figures = {
    label,
    seconds: Math.round(performance.now() / 1000),
    rss,
    heapUsed,
    external,
    // One that came while several others ended has no memory of its own.
    descriptors: descriptors() - sharedFiles(),
    workers: children(),
    listeners: listeners(),
  }
  print('rest', figures)
  return figures
}
const resume = () => {
  load.start()
  faults.start()
}

const progress = () => {
  const { counts } = ledger
  print('progress', {
    seconds: Math.round(performance.now() / 1000),
    faults: faults.injected,
    ...counts,
    pending: ledger.allPending,
    watched: ledger.jobs.size,
    rss: process.memoryUsage().rss,
    descriptors: descriptors(),
    atWork: pools.map(({ pool }) => pool.stats().workers.filter((worker) => worker.state === 'up' || worker.state === 'busy').length),
    violations: ledger.violationCount,
  })
}

await waitUntil('all workers are up', () => pools.every(({ pool }) => pool.stats().workers.every((worker) => worker.state === 'up')))
load.start()
faults.start()
await delay(config.warmUpMs)
const rests = [await rest('after the warm-up')]
const beats = setInterval(progress, config.progressMs)
const counted = { injected: faults.injected, deaths: ledger.counts.deaths, at: performance.now() }
let worked = 0
for (let left = config.ms; left > 0 && !broken; left -= config.roundMs) {
  const began = performance.now()
  resume()
  await delay(Math.min(left, config.roundMs))
  worked += performance.now() - began
  rests.push(await rest(left > config.roundMs ? 'between' : 'at the end'))
}
const done = { faults: faults.injected - counted.injected, deaths: ledger.counts.deaths - counted.deaths, ms: worked }
clearInterval(beats)
clearInterval(journalTimer)
clearInterval(sweepTimer)
for (const { name, pool } of pools) await settles(`close() of ${name}`, broken ? pool.terminate() : pool.close())
await waitUntil('no process is left', () => children() === 0, 5_000)
ledger.finish()
const after = { descriptors: descriptors(), listeners: listeners() }
if (after.descriptors !== before.descriptors)
  ledger.violation(`promise 6: ${after.descriptors} descriptors are open after close(), ${before.descriptors} were before`)
if (after.listeners !== before.listeners) ledger.violation(`promise 6: ${after.listeners} listeners of the process after close(), ${before.listeners} before`)
const [first, last] = [rests[0], rests.at(-1)]
if (last.descriptors !== first.descriptors) ledger.violation(`${last.descriptors} descriptors at the end, ${first.descriptors} after the warm-up`)
print('report', {
  seed: config.seed,
  counts: ledger.counts,
  failures: ledger.failures,
  ends: ledger.ends,
  kinds: faults.kinds,
  done,
  rests,
  before,
  after,
  violationCount: ledger.violationCount,
})
