import type { JobRecord } from '../jobs/job.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'
import type { Retirement } from './retirement.js'

/** A worker at the last scan. */
interface Observation {
  /** The first job that it held; undefined: it owes the answer to a RECALL, or has not read what was written to it. */
  readonly job: JobRecord | undefined
  /** Written to it so far: a large job may be on its way for long. */
  readonly bytes: number
  /** ms on the hub's clock: nothing has moved since then. */
  readonly since: number
}

/** This many stalled heartbeats in a row are needed: a single one may follow a pause of the whole machine. */
const BEATS = 2

/**
 * Finds workers that stall although they run no job: code that a task left behind holds the main thread (a timer, a chain of
 * microtasks), or has broken what takes jobs up. No time limit ends that, for no job has begun, and the jobs written to it would wait
 * for ever. Such a worker is replaced after `heartbeatTimeout`; what was written to it goes to other workers.
 */
export class StallDetector {
  readonly #pool: PoolState
  readonly #retirement: Retirement
  /** Heartbeats in a row by which the main thread had not turned for `heartbeatTimeout`. */
  readonly #stalledBeats = new WeakMap<PoolWorker, number>()
  #held = new Map<PoolWorker, Observation>()

  constructor(pool: PoolState, retirement: Retirement) {
    this.#pool = pool
    this.#retirement = retirement
  }

  /** A heartbeat has come. */
  heartbeat(worker: PoolWorker): void {
    const { heartbeatTimeout } = this.#pool.settings
    const beats = worker.heartbeats.mainAge < heartbeatTimeout ? 0 : this.#beats(worker) + 1
    this.#stalledBeats.set(worker, beats)
    if (beats < BEATS || !runsNothing(worker)) return
    const why = `Its main thread had not turned for ${heartbeatTimeout} ms while no job ran: something that a task left behind holds it.`
    this.#quarantineUnlessItMoves(worker, why, () => this.#beats(worker) >= BEATS)
  }

  #beats(worker: PoolWorker): number {
    return this.#stalledBeats.get(worker) ?? 0
  }

  /** Looks, without heartbeats, for jobs that were written to a worker and are not taken up. `late`: ms by which the scan itself is late. */
  scan(late: number): void {
    const { hub, settings, workers } = this.#pool
    const before = this.#held
    this.#held = new Map()
    // The whole machine was paused: nothing follows for a worker.
    if (late > settings.maintainInterval / 2) return
    for (const worker of workers.values()) {
      const job = worker.jobs.sent.peek()
      // What was recalled may still be on its way: a pipe that is full is given no job.
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

  /** Reads its pipes first. `stalls`: it has not moved meanwhile, nor handed anything back. */
  #quarantineUnlessItMoves(worker: PoolWorker, why: string, stalls: () => boolean): void {
    const { lastAt } = worker.progress
    const quarantine = (): void => {
      if (runsNothing(worker) && worker.progress.lastAt === lastAt && stalls()) this.#retirement.quarantine(worker, why)
    }
    this.#pool.hub.whenReadEmpty(() => worker.readers, quarantine)
  }
}

const runsNothing = (worker: PoolWorker): boolean => worker.alive && !worker.isRetiring && !worker.unusable && worker.jobs.running.size === 0
