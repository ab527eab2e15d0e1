import type { NodeConfig } from './node.js'

/** Of the looks of a node, ms. */
export const lookInterval = ({ scaleUpAfter }: NodeConfig): number => Math.min(scaleUpAfter, 1_000)

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

/** Workers of a node that start at once. */
export const startsAtOnce = ({ scaleUpBatch }: NodeConfig, cpus: number): number => Math.min(Math.max(scaleUpBatch, cpus), Math.max(2, cpus))

/** The longest start while a CPU is left to starts, ms: its CPU time is shared with the jobs on the other CPUs and with the other starts. */
export const longestStart = ({ startCpu, startWait }: NodeConfig, { neighbours, cpus }: Pick<BoundInput, 'neighbours' | 'cpus'>): number =>
  startCpu * Math.max(1, (cpus - 1 + neighbours * Math.max(2, cpus)) / cpus) + startWait

export const waitBound = (node: NodeConfig, input: BoundInput): number => {
  const { shared, ahead, latency, cpus, startTime } = input
  const look = lookInterval(node) + 2 * latency
  const start = longestStart(node, input)
  const seen = Math.max(look + node.scaleUpAfter, 2 * startTime) + look
  const second = shared ? node.scaleUpAfter + look : 0
  const needed = Math.max(0, ahead + 1 - node.minWorkers)
  const cpu = needed + node.minWorkers > 2 * cpus ? 2 * (1_000 + node.lateBeats) + look : 0
  const rounds = Math.min(needed, Math.ceil(needed / startsAtOnce(node, cpus)) + (shared ? input.nodes : 0))
  const again = input.even ? 0 : 2 * startTime + look
  return seen + cpu + rounds * (second + start + look + again)
}
