// The host of the soak: some pools, their load, the faults, and the books. Its argument is the configuration as JSON. It says
// what it sees as lines of `word JSON`, and has to end by itself.
import { writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from 'prefork'
import { children, descriptors, listeners } from '../fixtures/hosts/books.js'
import { Faults } from './faults.js'
import { Ledger } from './ledger.js'
import { Load } from './load.js'
import { randomOf } from './random.js'

const config = JSON.parse(process.argv[2])
const MB = 2 ** 20
/** Everything that was submitted has to settle within this once nothing more comes, ms. */
const QUIET_MS = 60_000
/** Once something was waited for in vain, the rest is not waited for so long. */
const BROKEN_MS = 3_000

const say = (word, value) => writeSync(1, `${word} ${JSON.stringify(value)}\n`)

const random = randomOf(config.seed)
const ledger = new Ledger(config.journal, config.keepMs, (violation) => say('violation', violation))
const common = {
  tasks: new URL('./tasks.js', import.meta.url),
  env: { ...process.env, PREFORK_SOAK_JOURNAL: config.journal },
  cancelGrace: 200,
}
const heap = ['--max-old-space-size=40']
/** Where nothing may be lost for having been in the hands of too many who died; the third pool keeps the default of 5. */
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
      heartbeatTimeout: 3_000,
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

const sweeps = setInterval(() => ledger.readJournal(), 250)
const judgements = setInterval(() => ledger.sweep(), 1_000)

/** Something was waited for in vain: the run is over, and says so soon. */
let broken = false
const waitUntil = async (what, check, limit = QUIET_MS) => {
  const ms = broken ? Math.min(limit, BROKEN_MS) : limit
  const end = performance.now() + ms
  while (!check()) {
    if (performance.now() > end) {
      broken = true
      ledger.violation(`waited ${ms} ms in vain until ${what}`)
      return
    }
    await delay(20)
  }
}
/** A call of the pool that has to settle. */
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

/** All quiet: everything has settled, the fleets are whole, each worker answers. Then sizes can be compared. */
const rest = async (label) => {
  load.stop()
  faults.stop()
  await waitUntil('every job has settled', () => ledger.allPending === 0 && load.open.size === 0)
  for (const pool of pools) {
    pool.wanted = pool.size
    pool.pool.resize(pool.size)
  }
  await waitUntil('the restarts are over', () => faults.restarts.size === 0 && faults.holding === 0)
  const least = (pool) => pool.options.workers?.min ?? pool.size
  const whole = ({ pool, ...target }) => {
    const { workers } = pool.stats()
    return workers.length === least(target) && workers.every((worker) => worker.state === 'up')
  }
  await waitUntil('the fleets are whole', () => pools.every(whole))
  for (const target of pools) {
    const answered = target.pool.broadcast('told', []).then((pids) => {
      if (new Set(pids).size !== least(target)) ledger.violation(`${target.name}: a broadcast at rest was answered by ${pids}`)
    })
    await settles(`a broadcast of ${target.name} at rest`, answered)
  }
  ledger.compare()
  // What is still in the books would be taken for the pool's.
  if (config.forget) await waitUntil('every job has been judged', () => ledger.jobs.size === 0)
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
    descriptors: descriptors(),
    workers: children(),
    listeners: listeners(),
  }
  say('rest', figures)
  return figures
}
const resume = () => {
  load.start()
  faults.start()
}

const progress = () => {
  const { counts } = ledger
  say('progress', {
    seconds: Math.round(performance.now() / 1000),
    faults: faults.struck,
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
const counted = { struck: faults.struck, deaths: ledger.counts.deaths, at: performance.now() }
let worked = 0
for (let left = config.ms; left > 0 && !broken; left -= config.roundMs) {
  const began = performance.now()
  resume()
  await delay(Math.min(left, config.roundMs))
  worked += performance.now() - began
  rests.push(await rest(left > config.roundMs ? 'between' : 'at the end'))
}
const done = { faults: faults.struck - counted.struck, deaths: ledger.counts.deaths - counted.deaths, ms: worked }
clearInterval(beats)
clearInterval(sweeps)
clearInterval(judgements)
for (const { name, pool } of pools) await settles(`close() of ${name}`, broken ? pool.terminate() : pool.close())
await waitUntil('no process is left', () => children() === 0, 5_000)
ledger.finish()
const after = { descriptors: descriptors(), listeners: listeners() }
if (after.descriptors !== before.descriptors)
  ledger.violation(`promise 6: ${after.descriptors} descriptors are open after close(), ${before.descriptors} were before`)
if (after.listeners !== before.listeners) ledger.violation(`promise 6: ${after.listeners} listeners of the process after close(), ${before.listeners} before`)
const [first, last] = [rests[0], rests.at(-1)]
if (last.descriptors !== first.descriptors) ledger.violation(`${last.descriptors} descriptors at the end, ${first.descriptors} after the warm-up`)
say('report', {
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
