import type { FarmEvent, NodeSnapshot, NodeStats } from '../../runtime/report/report.js'
import { TaskList } from './task-list.js'

/** Samples of the throughput that are kept. */
const MAX_SAMPLES = 60
/** ms that a sample covers, at least. */
const SAMPLE_TIME = 950

/** One node, as its events describe it. */
export class NodeModel {
  readonly name: string
  stats: NodeStats | undefined
  readonly tasks = new TaskList()
  /** Jobs that ended per second, newest last. */
  readonly throughput: number[] = []
  /** Time of its last event by the clock of this machine, ms since the epoch. */
  lastEvent = 0
  /** ms that the clock of this machine is ahead of the node's, message delays included. */
  skew = 0
  /** Why the node has ended; undefined while it has not. */
  down: string | undefined
  #sampled: { at: number; ended: number } | undefined

  constructor(name: string) {
    this.name = name
  }

  /** `now`: by the clock of this machine. */
  apply(event: FarmEvent, now: number): void {
    this.lastEvent = now
    this.skew = now - event.at
    if (event.type === 'node.heartbeat') {
      this.stats = event.stats
      this.down = undefined
      this.#measure(event.at, event.stats)
    } else if (event.type === 'node.down') this.down = event.reason
    else if ('id' in event) this.tasks.apply(event)
  }

  applySnapshot({ stats, tasks }: NodeSnapshot): void {
    this.stats = stats
    this.tasks.replace(tasks)
  }

  #measure(at: number, { totals }: NodeStats): void {
    const ended = totals.succeeded + totals.failed
    const sampled = this.#sampled
    // A node that restarted counts from 0.
    if (sampled === undefined || ended < sampled.ended) this.#sampled = { at, ended }
    else if (at - sampled.at >= SAMPLE_TIME) {
      this.throughput.push(((ended - sampled.ended) * 1_000) / (at - sampled.at))
      if (this.throughput.length > MAX_SAMPLES) this.throughput.shift()
      this.#sampled = { at, ended }
    }
  }
}

/** ms without an event after which a node is removed from the list. */
const FORGET_AFTER = 60_000

/** All nodes, as their events describe them. */
export class FarmModel {
  readonly #byName = new Map<string, NodeModel>()

  apply(event: FarmEvent, now: number): void {
    let node = this.#byName.get(event.node)
    if (node === undefined) {
      node = new NodeModel(event.node)
      this.#byName.set(event.node, node)
    }
    node.apply(event, now)
  }

  /** By name. `kept`: a node that stays in the list, however old its last event is. */
  nodes(now: number, kept?: string): NodeModel[] {
    for (const [name, node] of this.#byName) if (name !== kept && now - node.lastEvent > FORGET_AFTER) this.#byName.delete(name)
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  get(name: string): NodeModel | undefined {
    return this.#byName.get(name)
  }
}
