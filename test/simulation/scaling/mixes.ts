import type { Random } from '../random.js'
import type { FarmConfig } from './farm.js'
import type { JobSpec, Kind } from './job.js'
import type { NodeConfig } from './node.js'

export const NODE: NodeConfig = {
  minWorkers: 1,
  maxWorkers: 10,
  concurrency: 1,
  scaleUpAfter: 250,
  scaleUpBatch: 2,
  keepAlive: 30_000,
  queues: [0],
  startCpu: 250,
  startWait: 50,
  failing: [0, 0],
  lateBeats: 0,
}

export const times = <T>(n: number, make: (index: number) => T): T[] => Array.from({ length: n }, (_, index) => make(index))

type Shape = Partial<Pick<JobSpec, 'task' | 'queue' | 'kind'>>

export const burst = (n: number, ms: number, at = 0, shape: Shape = {}): JobSpec[] =>
  times(n, () => ({ at, ms, task: 'task', queue: 0, kind: 'block', ...shape }))

/** `rate`: jobs in a second. */
export const poisson = (random: Random, rate: number, ms: number, { from = 0, until, ...shape }: Shape & { from?: number; until: number }): JobSpec[] => {
  const jobs: JobSpec[] = []
  for (let at = from; ; ) {
    at += (-Math.log(1 - random.next()) * 1_000) / rate
    if (at >= until) return jobs
    jobs.push({ at, ms, task: 'task', queue: 0, kind: 'block', ...shape })
  }
}

/** One node that alone consumes one queue, unless said otherwise. */
export const farm = (
  jobs: readonly JobSpec[],
  node: Partial<NodeConfig> = {},
  { cpus = 2, nodes = 1, seed = 1, ...rest }: Partial<Omit<FarmConfig, 'nodes'>> & { cpus?: number; nodes?: number } = {},
): FarmConfig => ({
  seed,
  machines: times(nodes, () => cpus),
  queues: 1,
  division: 'queues',
  latency: 1,
  after: 0,
  ...rest,
  nodes: times(nodes, (machine) => ({ ...NODE, ...node, machine })),
  jobs: jobs.toSorted((a, b) => a.at - b.at),
})

const KINDS: readonly Kind[] = ['block', 'await', 'compute']
/** Most jobs of a random run. */
const MOST_JOBS = 1_500

/** Log-uniform, so that short times are as frequent as long ones. */
const between = (random: Random, from: number, to: number): number => from * (to / from) ** random.next()

const randomPart = (random: Random, index: number, queues: number, workers: number): JobSpec[] => {
  const ms = between(random, 1, 5_000)
  const shape = { task: `task ${index}`, queue: random.below(queues), kind: random.pick(KINDS) }
  const until = random.between(5, 40) * 1_000
  const from = random.chance(0.5) ? 0 : random.between(0, 20) * 1_000
  const load = (0.1 + 1.1 * random.next()) * workers
  const rate = (load * 1_000) / ms
  switch (random.below(6)) {
    case 0:
      return burst(random.between(1, 100), ms, from, shape)
    case 1:
      return poisson(random, rate, ms, { ...shape, from, until: from + until })
    case 2: {
      const period = random.between(1, 12) * 1_000
      const size = random.between(1, 12)
      return times(Math.ceil(until / period), (turn) => burst(size, ms, from + turn * period, shape)).flat()
    }
    case 3:
      return [
        ...burst(1, between(random, 2_000, 20_000), from, shape),
        ...times(random.between(10, 300), (i) => ({ at: from + 100 + i * 5, ms: between(random, 1, 30), ...shape })),
      ]
    case 4:
      return burst(random.between(500, MOST_JOBS), between(random, 0.2, 5), from, shape)
    default:
      return times(5, (step) =>
        poisson(random, (rate * (step + 1)) / 5, ms, { ...shape, from: from + (step * until) / 5, until: from + ((step + 1) * until) / 5 }),
      ).flat()
  }
}

/** A farm and a mix of jobs of which all is random. */
export const randomFarm = (seed: number, random: Random): FarmConfig => {
  const nodes = random.chance(0.4) ? 1 : random.between(2, 10)
  const queues = random.chance(0.5) ? 1 : random.between(2, 4)
  const maxWorkers = random.pick([1, 2, 4, 10, 10, 32])
  const shared = random.chance(0.2)
  const cpus = random.pick([1, 2, 2, 2, 4, 8])
  const config: NodeConfig = {
    ...NODE,
    minWorkers: random.chance(0.8) ? 1 : Math.min(2, maxWorkers),
    maxWorkers,
    concurrency: random.chance(0.7) ? 1 : random.between(2, 10),
    scaleUpAfter: random.chance(0.8) ? 250 : random.between(50, 1_000),
    scaleUpBatch: random.chance(0.8) ? 2 : random.between(1, 6),
    keepAlive: random.chance(0.4) ? 30_000 : random.between(2, 10) * 1_000,
    startCpu: random.between(80, 500),
    startWait: random.between(10, 200),
    failing: random.chance(0.1) ? [random.between(0, 5_000), random.between(5_000, 10_000)] : [0, 0],
    lateBeats: random.chance(0.2) ? random.between(100, 1_500) : 0,
  }
  const all = times(queues, (queue) => queue)
  const jobs = times(random.between(1, 3), (index) => randomPart(random, index, queues, nodes * Math.min(maxWorkers, 6))).flat()
  return {
    seed,
    machines: times(shared ? 1 : nodes, () => cpus),
    queues,
    division: random.pick(['queues', 'together'] as const),
    latency: random.pick([0.5, 1, 5]),
    after: 2 * config.keepAlive + 15_000,
    // The first node consumes all queues, so that each has a consumer.
    nodes: times(nodes, (index) => ({
      ...config,
      machine: shared ? 0 : index,
      queues:
        index === 0 || random.chance(0.7)
          ? all
          : all
              .filter(() => random.chance(0.6))
              .concat(random.below(queues))
              .filter((queue, at, list) => list.indexOf(queue) === at),
    })),
    jobs: jobs.toSorted((a, b) => a.at - b.at).slice(0, MOST_JOBS),
  }
}
