import type { JobRecord } from '../jobs/job.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'
import type { Retirement } from './retirement.js'

/** A worker at the last scan. */
interface Observation {
  /** The first job that the worker held; undefined: the worker owes the answer to a RECALL, or has not read all bytes written to it. */
  readonly job: JobRecord | undefined
  /** Bytes written to the worker so far: a large job may be on its way for long. */
  readonly bytes: number
  /** Time since which nothing has moved, ms on the hub's clock. */
  readonly since: number
}

/** Number of stalled heartbeats in a row that are needed: a single stalled heartbeat may follow a pause of the whole machine. */
const BEATS = 2

/**
 * Finds workers that stall although they run no job. Code that a task left behind holds the main thread (a timer, a chain of microtasks),
 * or has broken the worker's job loop. No time limit ends such a stall, because no job has begun. The jobs written to the worker would wait for
 * ever. So the worker is replaced after `heartbeatTimeout`, and its jobs go to other workers.
 */
export class StallDetector {
  readonly #pool: PoolState
  readonly #retirement: Retirement
  /** Heartbeats in a row by which the main thread had not turned for `heartbeatTimeout`, while no job ran. */
  readonly #stalledBeats = new WeakMap<PoolWorker, number>()
  #held = new Map<PoolWorker, Observation>()

  constructor(pool: PoolState, retirement: Retirement) {
    this.#pool = pool
    this.#retirement = retirement
  }

  /** A heartbeat has come. */
  heartbeat(worker: PoolWorker): void {
    const { heartbeatTimeout } = this.#pool.settings
    // A start has a deadline of its own, which names the module that loads.
    if (worker.upAt === 0) return
    // Only heartbeats of a worker without a job count. A heartbeat that was sent while a job ran may be read after the answer of that job.
    const beats = worker.heartbeats.mainAge < heartbeatTimeout || !runsNothing(worker) ? 0 : this.#beats(worker) + 1
    this.#stalledBeats.set(worker, beats)
    if (beats < BEATS) return
    const why = `Its main thread had not turned for ${heartbeatTimeout} ms while no job ran: something that a task left behind holds it.`
    this.#quarantineUnlessItMoves(worker, why, () => this.#beats(worker) >= BEATS)
  }

  #beats(worker: PoolWorker): number {
    return this.#stalledBeats.get(worker) ?? 0
  }

  /** Finds jobs that were written to a worker and are not accepted, without a heartbeat. `late`: ms by which the scan itself is late. */
  scan(late: number): void {
    const { hub, settings, workers } = this.#pool
    const before = this.#held
    this.#held = new Map()
    // The whole machine was paused: that says nothing about a worker.
    if (late > settings.maintainInterval / 2) return
    for (const worker of workers.values()) {
      const job = worker.jobs.sent.peek()
      // The bytes of recalled jobs may still be on their way: a full pipe gets no further job.
      if ((job === undefined && worker.recalls === 0 && !worker.writing) || worker.upAt === 0 || !runsNothing(worker)) continue
      const { recalls } = worker
      const { bytes } = worker.writer
      const earlier = before.get(worker)
      const same = earlier !== undefined && earlier.job === job && earlier.bytes === bytes
      const unknown = job === undefined || worker.writing
      const since = same ? earlier.since : unknown ? hub.now() : worker.progress.heldSince
      this.#held.set(worker, { job, bytes, since })
      if (!same || hub.now() - since < settings.heartbeatTimeout) continue
      const what =
        job !== undefined ? `taken up the job '${job.name}'` : worker.recalls > 0 ? 'given back what it was asked for' : 'read what was written to it'
      this.#quarantineUnlessItMoves(worker, `It had not ${what} within ${settings.heartbeatTimeout} ms while no job ran.`, () => {
        const unchanged = worker.jobs.sent.peek() === job && worker.recalls === recalls && worker.writer.bytes === bytes
        return unchanged && (job !== undefined || recalls > 0 || worker.writing)
      })
    }
  }

  /** Reads the worker's pipes first. `stalls`: the worker has not moved meanwhile, and has given no job back. */
  #quarantineUnlessItMoves(worker: PoolWorker, why: string, stalls: () => boolean): void {
    const { lastAt } = worker.progress
    const quarantine = (): void => {
      if (runsNothing(worker) && worker.progress.lastAt === lastAt && stalls()) this.#retirement.quarantine(worker, why)
    }
    this.#pool.hub.whenReadEmpty(() => worker.readers, quarantine)
  }
}

const runsNothing = (worker: PoolWorker): boolean => {
  worker.recorded.acceptIfRecorded()
  return worker.alive && !worker.isRetiring && !worker.unusable && worker.jobs.running.size === 0
}
