/** `npm run soak:queue [-- --kills N] [--only NAME,NAME] [--seed S]`. Ends with code 1 when a promise was broken or a time is far from what is wanted. */
import { parseArgs } from 'node:util'
import { randomOf } from '../farm-soak/plan.js'
import { damagedBody, damagedTable, fileGone, fullDisk, shortScript } from './bad-days.js'
import { cancelled, cancelledAtTheEnd, crowd, dueAtOnce, expired, limited, paused } from './crowd.js'
import { killAroundTicks, killNodes, killProducers } from './kills.js'
import { sharesFiles } from './proof-folder.js'
import type { ProofReport } from './report.js'
import { clockMoved, locked, poison, restarts, stopped } from './sessions.js'

const HELP = `npm run soak:queue                      every proof of the queue on a file, some six minutes
  --kills N        only those that kill: N nodes under 500 N jobs, N / 4 producers, N / 2 schedulers
  --only A,B       only these proofs
  --seed S         repeats the random choices of an earlier run; their timing differs
`

const { values: given } = parseArgs({
  options: { help: { type: 'boolean', default: false }, kills: { type: 'string' }, only: { type: 'string' }, seed: { type: 'string' } },
})

const number = (name: 'kills' | 'seed', otherwise: number): number => {
  const value = Number(given[name] ?? otherwise)
  if (!(value > 0)) throw new TypeError(`--${name} is a number; it was given ${given[name]}.`)
  return value
}

const kills = number('kills', 100)
const seed = number('seed', Math.floor(Math.random() * 2 ** 31) + 1)
const random = randomOf(seed)
const NAMESPACE = { namespace: true, name: 'in-a-namespace' }

interface Proof {
  /** Undefined: it cannot be done here. */
  run(): Promise<ProofReport | undefined>
  /** What a figure is to be at most, and what it may be on a busy machine. */
  readonly limits?: Readonly<Record<string, readonly [wanted: number, allowed: number]>>
}

const KILLS: Readonly<Record<string, Proof>> = {
  nodes: { run: () => killNodes({ kills, jobs: 500 * kills, random }), limits: kills === 100 ? { seconds: [180, 360] } : {} },
  producers: { run: () => killProducers({ kills: Math.ceil(kills / 4), flowSize: 100, random }) },
  ticks: { run: () => killAroundTicks({ kills: Math.ceil(kills / 2), random }) },
}

const OTHERS: Readonly<Record<string, Proof>> = {
  'poison-worker': { run: () => poison('worker') },
  'poison-node': { run: () => poison('node', 300) },
  'poison-worker-at-once': { run: () => poison('worker at once') },
  'poison-node-at-once': { run: () => poison('node at once', 300) },
  stopped: { run: stopped, limits: { 'first copies ended after, ms': [2_000, 4_000] } },
  locked: { run: locked, limits: { 'loop of the host, p99 ms': [50, 100] } },
  clock: { run: clockMoved },
  'full-disk': { run: () => fullDisk(60), limits: { 'add refused after, ms': [1_000, 2_000] } },
  removed: { run: () => fileGone('removed'), limits: { 'runtime ended after, ms': [2_000, 4_000] } },
  replaced: { run: () => fileGone('replaced'), limits: { 'runtime ended after, ms': [2_000, 4_000] } },
  'damaged-table': { run: () => damagedTable('job') },
  'damaged-index': { run: () => damagedTable('job_waiting') },
  'damaged-body': { run: damagedBody },
  restarts: { run: () => restarts(10), limits: { 'p95 ms': [1_000, 2_000] } },
  'restarts-in-namespaces': {
    run: async () => (process.platform === 'linux' && process.getuid?.() === 0 ? await restarts(5, NAMESPACE) : undefined),
    limits: { 'p95 ms': [1_000, 2_000] },
  },
  crowd: { run: () => crowd(4, 18_000), limits: { 'worst add, ms': [250, 500], 'largest share : smallest': [2, 3] } },
  due: { run: () => dueAtOnce(10_000), limits: { 'longest transaction, ms': [50, 150] } },
  limited: { run: () => limited(50), limits: { 'most starts in a second': [11, 13] } },
  paused: { run: paused, limits: { 'last start after the pause, ms': [50, 250] } },
  // The grace of a cancellation is 1 s.
  cancelled: { run: cancelled, limits: { 'cancelled after, ms': [2_000, 4_000] } },
  'cancelled-at-the-end': { run: () => cancelledAtTheEnd(40) },
  expired: { run: expired },
  script: { run: shortScript, limits: { 'ended after, ms': [1_000, 2_000] } },
}

const chosen = (): [string, Proof][] => {
  const all = { ...KILLS, ...OTHERS }
  if (given.only === undefined) return Object.entries(given.kills === undefined ? all : KILLS)
  return given.only.split(',').map((name) => {
    const proof = all[name]
    if (proof === undefined) throw new TypeError(`There is no proof '${name}'; there are: ${Object.keys(all).join(', ')}.`)
    return [name, proof]
  })
}

/** Prints what a proof has found. Returns what is wrong. */
const show = (name: string, { figures, problems }: ProofReport, limits: NonNullable<Proof['limits']>, seconds: number): string[] => {
  console.log(`${name} (${seconds.toFixed(1)} s)`)
  const late: string[] = []
  for (const [label, value] of Object.entries(figures)) {
    const [wanted, allowed] = limits[label] ?? []
    console.log(`  ${label.padEnd(32)} ${String(value)}${wanted === undefined ? '' : ` (wanted: ${wanted} at most)`}`)
    // What is not a number is not within a limit.
    if (allowed !== undefined && !(Number(value) <= allowed)) late.push(`${label}: ${value}, more than ${allowed}`)
  }
  return [...problems, ...late].map((problem) => `${name}: ${problem}`)
}

if (given.help) {
  process.stdout.write(HELP)
  process.exit(0)
}
if (!sharesFiles) {
  console.error('These proofs need several processes on one file: Node 22.23, or a later 24.')
  process.exit(1)
}
console.log(`seed ${seed}, Node ${process.version}`)
const violations: string[] = []
for (const [name, { run, limits = {} }] of chosen()) {
  const began = performance.now()
  const report = await run().catch((error: Error) => ({ figures: {}, problems: [String(error.stack)] }))
  if (report === undefined) console.log(`${name}: **** SKIPPED: it needs root, and a system that can mount and unshare ****`)
  else violations.push(...show(name, report, limits, (performance.now() - began) / 1_000))
}
for (const violation of violations) console.log(`VIOLATION ${violation}`)
console.log(violations.length === 0 ? 'No promise was broken.' : `FAILED. Its random choices again: --seed ${seed}`)
process.exit(violations.length === 0 ? 0 : 1)
