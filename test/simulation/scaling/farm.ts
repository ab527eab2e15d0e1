import { Random } from '../random.js'
import { type Division, SimBroker } from './broker.js'
import { Checker } from './checker.js'
import { Clock } from './clock.js'
import { Cpus } from './cpus.js'
import type { Job, JobSpec } from './job.js'
import { type NodeConfig, SimNode } from './node.js'

export interface FarmConfig {
  readonly seed: number
  /** CPUs of each machine. */
  readonly machines: readonly number[]
  readonly nodes: readonly (NodeConfig & { readonly machine: number })[]
  readonly queues: number
  readonly division: Division
  /** Between the broker and a node, ms. */
  readonly latency: number
  readonly jobs: readonly JobSpec[]
  /** The run goes on for so long when all jobs have ended, ms. */
  readonly after: number
}

/** Times in ms. */
export interface Outcome {
  readonly jobs: readonly Job[]
  /** Of all jobs that began, the shortest first. */
  readonly waits: readonly number[]
  readonly starts: number
  readonly retired: number
  readonly workerSeconds: number
  readonly peakWorkers: number
  readonly duration: number
  /** The wait that came nearest to its bound, as a share of it. */
  readonly nearest: number
  /** The longest wait while a worker of a node that consumes the queue had no job. */
  readonly longestIdleWait: number
  readonly faults: readonly string[]
}

/** Time in which the jobs of a run could be done one by one, and what the node needs besides, ms. */
const horizonOf = ({ jobs, after }: FarmConfig): number =>
  jobs.reduce((last, { at }) => Math.max(last, at), 0) + jobs.reduce((sum, { ms }) => sum + ms + 50, 0) + after + 300_000

/** Plays a run, and checks it. */
export const play = (config: FarmConfig): Outcome => {
  const clock = new Clock()
  const random = new Random(config.seed)
  const broker = new SimBroker(clock, config)
  const machines = config.machines.map((count) => new Cpus(clock, count))
  const jobs: Job[] = config.jobs.map((spec, number) => ({ ...spec, number, submittedAt: 0, beganAt: undefined, endedAt: undefined, ahead: 0 }))
  const checker = new Checker(clock, config)
  const nodes = config.nodes.map(
    (node, index) => new SimNode(clock, random, { broker, cpus: machines[node.machine]!, config: node, events: checker.eventsOf(index) }),
  )
  checker.watch(nodes)
  for (const job of jobs)
    clock.after(job.at, () => {
      checker.published(job)
      broker.publish(job)
    })
  const horizon = horizonOf(config)
  let doneAt: number | undefined
  clock.run(horizon, () => {
    if (doneAt === undefined && checker.ended === jobs.length) doneAt = clock.now
    return doneAt !== undefined && clock.now >= doneAt + config.after
  })
  return checker.outcome(jobs)
}
