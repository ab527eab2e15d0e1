import { HEARTBEAT_INTERVAL, type NodeConfig } from './node.js'

/** ms; the default. */
const SCALE_CHECK_INTERVAL = 1_000

/** Time between two looks of a node, ms. */
const lookInterval = ({ scaleUpAfter }: NodeConfig): number => Math.min(scaleUpAfter, SCALE_CHECK_INTERVAL)

export interface BoundInput {
  /** Nodes that start workers on the same machine at once, this one among them. */
  readonly neighbours: number
  readonly cpus: number
  /** The longest mean start that the node has measured, ms. */
  readonly startTime: number
  /** All jobs take about the same time. */
  readonly even: boolean
  /** All nodes. */
  readonly nodes: number
  /** Several nodes consume the queue. */
  readonly shared: boolean
  /** Jobs that had to begin before it. */
  readonly ahead: number
  /** Between broker and node, ms. */
  readonly latency: number
}

/** Workers of a node that start at once: the pool starts as many as there are CPUs, and two on one. */
const startsAtOnce = ({ scaleUpBatch }: NodeConfig, cpus: number): number => Math.min(Math.max(scaleUpBatch, cpus), Math.max(2, cpus))

/** The longest start while a CPU is left to starts, ms: its CPU time is shared with the jobs on the other CPUs and with the other starts. */
const longestStart = ({ startCpu, startWait }: NodeConfig, { neighbours, cpus }: Pick<BoundInput, 'neighbours' | 'cpus'>): number =>
  startCpu * Math.max(1, (cpus - 1 + neighbours * Math.max(2, cpus)) / cpus) + startWait

/**
 * The longest time, ms, for which a job waits while fewer than `maxWorkers` of a node that consumes its queue are up, a CPU is free and starts do not fail. It
 * is the sum of what can pass one after another:
 *
 * 1. The node sees the job. A look comes each `look` ms, and asks the broker, which takes two ways. It counts when it has waited for `scaleUpAfter` from the
 *    first look that found it, at the look after that. If by their run times the jobs seem to begin soon, the node waits until they are late instead, which is
 *    after two starts of a worker.
 * 2. Beyond two workers for each CPU the heartbeats have to show that a CPU is free. One that carries the time before it was is followed by one that does not.
 * 3. Workers start. Each job before it that has not ended takes a worker at most, and the node has `minWorkers`. A round starts as many as start at once, and
 *    takes a start and the look after it. Where several nodes share the queue, each starts workers for its share and looks twice: then the last of
 *    them, one for each node at most, start alone.
 * 4. Where jobs take very different times, the run times may mislead the node in each round, until the jobs are late again; then `scaleUpBatch` workers start.
 *
 * It does not depend on how long the jobs take.
 */
export const waitBound = (node: NodeConfig, input: BoundInput): number => {
  const { shared, ahead, latency, cpus, startTime } = input
  // While main threads are held, slots seem free, and the broker is asked less often.
  const look = (node.concurrency > 1 ? SCALE_CHECK_INTERVAL : lookInterval(node)) + 2 * latency
  const start = longestStart(node, input)
  const seen = Math.max(look + node.scaleUpAfter, 2 * startTime) + look
  const second = shared ? node.scaleUpAfter + look : 0
  const needed = Math.max(0, ahead + 1 - node.minWorkers)
  const cpu = needed + node.minWorkers > 2 * cpus ? 2 * (HEARTBEAT_INTERVAL + node.lateBeats) + look : 0
  const batch = input.even ? startsAtOnce(node, cpus) : Math.min(node.scaleUpBatch, startsAtOnce(node, cpus))
  const rounds = Math.min(needed, Math.ceil(needed / batch) + (shared ? input.nodes : 0))
  const again = input.even ? 0 : 2 * startTime + look
  return seen + cpu + rounds * (second + start + look + again)
}
