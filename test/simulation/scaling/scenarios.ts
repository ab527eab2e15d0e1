import type { Random } from '../random.js'
import { type FarmConfig, type Outcome, play } from './farm.js'
import type { JobSpec } from './job.js'
import { burst, farm, poisson, randomFarm, times } from './mixes.js'

/** Plays farms of one kind, and returns what was wrong. */
type Scenario = (seed: number, random: Random) => { readonly outcomes: readonly Outcome[]; readonly faults: readonly string[] }

const LIMIT = 3_000
/** A short job may wait so long while a worker is free: it may have been held in a node whose worker runs a long one, and goes back. */
const MAX_IDLE_WAIT = 1_000

const division = (random: Random) => random.pick(['queues', 'together'] as const)

const overLimit = ({ jobs }: Outcome): number => jobs.filter(({ beganAt, endedAt }) => endedAt! - beganAt! > LIMIT).length

const longestWait = ({ waits }: Outcome): number => waits.at(-1) ?? 0

const played = (config: FarmConfig, ...checks: ((outcome: Outcome) => string | undefined)[]): ReturnType<Scenario> => {
  const outcome = play(config)
  return { outcomes: [outcome], faults: [...outcome.faults, ...checks.flatMap((check) => check(outcome) ?? [])] }
}

/** Ten nodes see the same jobs. */
const tenNodes: Scenario = (seed, random) => {
  const jobs = random.between(1, 80)
  const most = 2 * Math.max(0, jobs - 10) + 10
  const config = farm(
    burst(jobs, random.between(300, 8_000), 500, { kind: random.pick(['block', 'await', 'compute']) }),
    {},
    { nodes: 10, seed, division: division(random) },
  )
  return played(config, ({ starts }) => (starts > most ? `ten nodes started ${starts} workers for ${jobs} jobs; at most ${most}` : undefined))
}

const computingStream: Scenario = (seed, random) =>
  played(farm(poisson(random, 1.8, 1_000, { until: 120_000, kind: 'compute' }), {}, { seed }), (outcome) => {
    const over = overLimit(outcome)
    return over > 0 ? `${over} computing jobs of 1 s took more than 3 s on two CPUs, at a load of 0.9` : undefined
  })

const computingBurst: Scenario = (seed, random) => {
  const cpus = random.pick([1, 2, 4, 8])
  const config = farm(burst(random.between(30, 60), 1_000, 0, { kind: 'compute' }), { maxWorkers: 30 }, { seed, cpus })
  return played(config, ({ peakWorkers }) => (peakWorkers > 2 * cpus ? `${peakWorkers} workers compute on ${cpus} CPUs` : undefined))
}

/** Jobs that hold their thread, with ten slots in each worker: the node has to grow as with one. */
const holdsThread: Scenario = (seed, random) => {
  const make: readonly (() => JobSpec[])[] = [
    () => burst(random.between(4, 30), random.between(100, 2_000)),
    () => times(40, (i) => burst(4, 1_000, i * 5_000)).flat(),
    () => poisson(random, 10, 200, { until: 60_000 }),
    () => poisson(random, 60, 50, { until: 30_000 }),
  ]
  const kind = random.pick(['block', 'compute'] as const)
  const jobs = random
    .pick(make)()
    .map((job) => ({ ...job, kind }))
  const [one, ten] = [1, 10].map((concurrency) =>
    play(farm(jobs, { concurrency, keepAlive: 10_000 }, { seed, after: 25_000, cpus: kind === 'compute' ? 8 : 2 })),
  )
  const faults = [...one!.faults, ...ten!.faults]
  // Jobs that were written to a held worker go back to the node, and wait for the next look.
  if (longestWait(ten!) > 1.25 * longestWait(one!) + 1_250)
    faults.push(`with ten slots a job waited ${longestWait(ten!)} ms, with one at most ${longestWait(one!)} ms`)
  if (ten!.starts > one!.starts + 4) faults.push(`with ten slots ${ten!.starts} workers were started, with one ${one!.starts}`)
  return { outcomes: [one!, ten!], faults }
}

/** Two workers, a long job and short ones of the same task. */
const longAmongShort: Scenario = (seed, random) => {
  const gap = random.pick([0, 1, 5, 20])
  const jobs = [...burst(1, 10_000), ...times(200, (i) => burst(1, 10, 100 + i * gap)).flat()]
  const config = farm(jobs, { maxWorkers: 1 }, { nodes: 2, seed, division: division(random), latency: random.pick([0.5, 1, 5]) })
  return played(config, ({ longestIdleWait }) =>
    longestIdleWait > MAX_IDLE_WAIT ? `a job waited ${Math.round(longestIdleWait)} ms while a worker was free; at most ${MAX_IDLE_WAIT}` : undefined,
  )
}

/** Short jobs whose turn comes before a worker has started are no reason to start one. */
const soonDone: Scenario = (seed, random) =>
  played(farm(times(20, (i) => burst(random.between(50, 250), 1, i * 2_000)).flat(), {}, { seed }), ({ starts }) =>
    starts > 0 ? `${starts} workers were started for jobs that end before` : undefined,
  )

export const SCENARIOS: Readonly<Record<string, Scenario>> = { tenNodes, computingStream, computingBurst, holdsThread, longAmongShort, soonDone }

/** Each fourth seed is one of the scenarios, the others are random farms. */
export const playSeed: Scenario = (seed, random) => {
  const scenarios = Object.values(SCENARIOS)
  return seed % 4 === 0 ? scenarios[(seed / 4) % scenarios.length]!(seed, random) : played(randomFarm(seed, random))
}
