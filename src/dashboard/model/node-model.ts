import type { FarmEvent, NodeSnapshot, NodeStats } from '../../runtime/report/report.js'
import { TaskList } from './task-list.js'

/** Measurements of the throughput that are kept. */
const KEPT = 60
/** ms that one of them spans at the least. */
const SPAN = 950

/** What is known of one node. */
export class NodeModel {
  stats: NodeStats | undefined
  readonly tasks = new TaskList()
  /** Jobs ended in a second, newest last. */
  readonly throughput: number[] = []
  /** When it was last heard of, by the clock of this machine: ms since the epoch. */
  heard = 0
  /** ms that the clock of this machine is ahead of the node's, as far as it is known. */
  skew = 0
  /** Why it has ended, when it has. */
  down: string | undefined
  private counted: { at: number; ended: number } | undefined

  constructor(readonly name: string) {}

  /** `now`: by the clock of this machine. */
  take(event: FarmEvent, now: number): void {
    this.heard = now
    this.skew = now - event.at
    if (event.type === 'node.heartbeat') {
      this.stats = event.stats
      this.down = undefined
      this.measure(event.at, event.stats)
    } else if (event.type === 'node.down') this.down = event.reason
    else if ('id' in event) this.tasks.take(event)
  }

  takeSnapshot({ stats, tasks }: NodeSnapshot): void {
    this.stats = stats
    this.tasks.replace(tasks)
  }

  private measure(at: number, { totals }: NodeStats): void {
    const ended = totals.succeeded + totals.failed
    const { counted } = this
    // It has started anew: what it counted before is gone.
    if (counted === undefined || ended < counted.ended) this.counted = { at, ended }
    else if (at - counted.at >= SPAN) {
      this.throughput.push(((ended - counted.ended) * 1_000) / (at - counted.at))
      if (this.throughput.length > KEPT) this.throughput.shift()
      this.counted = { at, ended }
    }
  }
}
