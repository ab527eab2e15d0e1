import type { FarmEvent, NodeSnapshot, NodeStats, NodeWorker } from '../../runtime/report/report.js'
import { type RateSample, Throughput } from './samples.js'
import { TaskList } from './task-list.js'

/** ms between heartbeats of a node that does not tell. */
const USUAL_INTERVAL = 1_000
/** A node is silent after so many heartbeats that have not come, and after so many ms at least. */
const SILENT = { beats: 3, ms: 5_000 }
/** It is taken for dead after so many. */
const GONE = { beats: 10, ms: 15_000 }

/** Heartbeats in a row after which a list of jobs that they contradict is taken for wrong: the end of a job may be under way. */
const CONTRADICTIONS = 3

/** ms without a turn of the event loop after which a worker is taken for stuck. */
const STUCK_AFTER = 5_000

/** One that starts or has ended has no event loop. */
export const isStuck = ({ stalled, state }: NodeWorker): boolean => stalled >= STUCK_AFTER && state !== 'starting' && state !== 'dead'

/** One node, as its events describe it. */
export class NodeModel {
  readonly name: string
  stats: NodeStats | undefined
  readonly tasks: TaskList
  /** Time of its last event, or when it could last not be heard, by the clock of this machine, ms since the epoch. */
  lastEvent = 0
  /** ms that the clock of this machine is ahead of the node's, message delays included. */
  skew = 0
  /** Why the node has ended, as it has said itself; undefined while it has not. */
  down: string | undefined
  /** False: the dashboard's own connection is lost, so that nobody knows. */
  heard = true
  readonly #throughput = new Throughput()
  /** Heartbeats in a row by which fewer jobs run than the list has. */
  #contradictions = 0

  constructor(name: string) {
    this.name = name
    this.tasks = new TaskList(name)
  }

  /** Its throughput, newest last, ten minutes at most. */
  get samples(): readonly RateSample[] {
    return this.#throughput.samples
  }

  /** Jobs that ended per second, by the last two heartbeats. Undefined while no heartbeat comes. */
  rateAt(now: number): number | undefined {
    const isCurrent = this.heard && this.goneReason(now) === undefined && this.silentFor(now) === undefined
    return isCurrent ? (this.samples.at(-1)?.ended ?? 0) : undefined
  }

  /** The list has jobs that run no more. Their ends were missed: events get lost with a connection, and a snapshot may overtake them. */
  get missedEnds(): boolean {
    return this.#contradictions >= CONTRADICTIONS
  }

  /** `now`: by the clock of this machine. */
  apply(event: FarmEvent, now: number): void {
    this.lastEvent = now
    this.heard = true
    this.skew = now - event.at
    if (event.type === 'node.heartbeat') {
      this.stats = event.stats
      this.down = undefined
      this.#throughput.add(event.stats.totals, event.at, now)
      this.#contradictions = this.tasks.running > event.stats.running ? this.#contradictions + 1 : 0
    } else if (event.type === 'node.down') this.down = event.reason
    // A node of this name has started again: it knows no job.
    else if (event.type === 'node.up') this.tasks.replace([], this.skew)
    else if ('id' in event) this.tasks.apply(event, now)
  }

  /** Its events cannot arrive now. Its silence counts when they can. */
  cannotBeHeard(now: number): void {
    this.heard = false
    this.lastEvent = now
  }

  applySnapshot({ stats, tasks }: NodeSnapshot): void {
    this.stats = stats
    this.tasks.replace(tasks, this.skew)
    this.#contradictions = 0
  }

  /** What the node tells of the jobs with one id. */
  applyJob({ tasks }: NodeSnapshot): void {
    const record = tasks.at(-1)
    if (record !== undefined) this.tasks.set(record)
  }

  /** ms since its last event, once that is longer than it should be; undefined before. */
  silentFor(now: number): number | undefined {
    const silence = this.#silence(now)
    return silence > this.#time(SILENT) ? silence : undefined
  }

  /** Why the node is not there any more: it has said so, or its heartbeats have stopped. Undefined: it is there. */
  goneReason(now: number): string | undefined {
    if (this.down !== undefined) return this.down
    const silence = this.#silence(now)
    return silence > this.#time(GONE) ? `no heartbeat for ${Math.round(silence / 1_000)} s: killed, frozen or cut off` : undefined
  }

  #silence(now: number): number {
    // The clock was set back: a node that is dead would be there until it has caught up.
    this.lastEvent = Math.min(this.lastEvent, now)
    return now - this.lastEvent
  }

  #time({ beats, ms }: { beats: number; ms: number }): number {
    return Math.max(ms, beats * (this.stats?.heartbeatInterval ?? USUAL_INTERVAL))
  }
}
