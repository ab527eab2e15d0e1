import type { NodeConfig } from './node.js'

/** Of the looks of a node, ms. */
export const lookInterval = ({ scaleUpAfter }: NodeConfig): number => Math.min(scaleUpAfter, 1_000)

export interface BoundInput {
  /** Nodes that start workers on the same machine at once, this one among them. */
  readonly neighbours: number
  readonly cpus: number
  /** Several nodes consume the queue. */
  readonly shared: boolean
  /** Jobs that had to begin before it. */
  readonly ahead: number
  /** Between broker and node, ms. */
  readonly latency: number
}

/** Workers of a node that start at once. */
export const startsAtOnce = ({ scaleUpBatch }: NodeConfig, cpus: number): number => Math.max(scaleUpBatch, cpus)

/** The longest start while a CPU is left to starts, ms: its CPU time is shared with the jobs on the other CPUs and with the other starts. */
export const longestStart = ({ startCpu, startWait }: NodeConfig, { neighbours, cpus }: Pick<BoundInput, 'neighbours' | 'cpus'>): number =>
  startCpu * Math.max(1, (cpus - 1 + neighbours * Math.max(2, cpus)) / cpus) + startWait

export const waitBound = (node: NodeConfig, input: BoundInput): number => {
  const { shared, ahead, latency } = input
  const look = lookInterval(node)
  const start = longestStart(node, input)
  const seen = 2 * look + 2 * latency + node.scaleUpAfter
  const second = shared ? node.scaleUpAfter + look : 0
  const late = 2 * start + look
  const cpu = 2 * (1_000 + node.lateBeats)
  const rounds = Math.ceil((ahead + 1) / Math.max(2, input.cpus))
  return seen + second + late + cpu + rounds * (start + look)
}
