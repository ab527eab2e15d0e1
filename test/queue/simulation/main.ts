// Plays the simulation of the queue's stores outside the test suite. See `npm run test:soak -- --queue --help`.
import './clock.js'
import { parseArgs } from 'node:util'
import { hasSqlite, silenceSqliteWarning } from '../../../src/queue/store/sqlite/database/node-sqlite.js'
import { Coverage, REQUIRED } from './coverage.js'
import { explore } from './explore.js'
import type { RunConfig } from './run.js'
import { installSockets } from './sockets.js'

const HELP = `npm run test:soak -- --queue --minutes N     plays new runs for N minutes
npm run test:soak -- --queue --runs N        plays N runs of each store
  --store sqlite|memory                      plays runs of that store only
  --seed S --path P                          repeats one run, with the values that a failure prints
  --first                                    stops at the first failure, without shrinking it
  --coverage                                 fails also if no run made one of the transitions
  --lines N                                  lines of the trace after a failure (60)`

const { values } = parseArgs({
  options: {
    queue: { type: 'boolean' },
    store: { type: 'string' },
    minutes: { type: 'string' },
    runs: { type: 'string' },
    seed: { type: 'string' },
    path: { type: 'string' },
    first: { type: 'boolean' },
    coverage: { type: 'boolean' },
    lines: { type: 'string', default: '60' },
    help: { type: 'boolean' },
  },
})

const seed = values.seed === undefined ? Date.now() & 0x7fff_ffff : Number(values.seed)

/** Returns why it failed. */
const playStore = async (store: RunConfig['store']): Promise<string | undefined> => {
  const coverage = new Coverage()
  const began = performance.now()
  const until = began + Number(values.minutes ?? 0) * 60_000
  const runs = Number(values.runs ?? (values.path === undefined ? 200 : 1))
  let failure: string | undefined
  let round = 0
  do {
    const timeLimit = values.minutes === undefined ? undefined : Math.max(1, until - performance.now())
    failure = await explore(coverage, {
      store,
      runs,
      seed: seed + round++,
      ...(values.path === undefined ? {} : { path: values.path }),
      ...(timeLimit === undefined ? {} : { timeLimit }),
      lines: Number(values.lines),
      endOnFailure: values.first === true || values.path !== undefined,
    })
  } while (failure === undefined && performance.now() < until)
  process.stdout.write(`${coverage.report()}\nstore ${store}, seed ${seed}, ${((performance.now() - began) / 1_000).toFixed(1)} s\n\n`)
  const missing = coverage.missing(REQUIRED[store])
  if (failure === undefined && values.coverage === true && missing.length > 0) return `no run reached: ${missing.join(', ')}`
  return failure
}

if (values.help === true) process.stdout.write(`${HELP}\n`)
else {
  installSockets()
  if (hasSqlite()) silenceSqliteWarning()
  const stores = (['memory', 'sqlite'] as const).filter((store) => (store === 'memory' || hasSqlite()) && (values.store ?? store) === store)
  if (stores.length === 0) throw new Error(`There is no store '${values.store}' on Node ${process.version}`)
  for (const store of stores) {
    const failure = await playStore(store)
    if (failure === undefined) continue
    process.stdout.write(`${failure}\n`)
    process.exitCode = 1
    break
  }
}
