import type { JobRecord } from '../jobs/job.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'

/** What a worker held first when it was last looked at; undefined: it owes the answer to a recall, or has not read what was written to it. */
interface Observation {
  readonly job: JobRecord | undefined
  /** Written to it so far: a large job may be on its way for long. */
  readonly bytes: number
  /** ms on the hub's clock: nothing has moved since then. */
  readonly since: number
}

/** Heartbeats in a row that tell of it: a single one may follow a pause of the whole machine. */
const BEATS = 2

/**
 * Workers that stand still although they run no job: code that a task left behind holds the main thread (a timer, a chain of
 * microtasks), or it has broken what takes jobs up. No job's limit ends that, for none has begun, and whoever waits there would
 * wait for ever. Such a worker is replaced after `heartbeatTimeout`; what was written to it goes to others.
 */
export class StallDetector {
  readonly #pool: PoolState
  readonly #end: (worker: PoolWorker, why: string) => void
  #held = new Map<PoolWorker, Observation>()

  constructor(pool: PoolState, end: (worker: PoolWorker, why: string) => void) {
    this.#pool = pool
    this.#end = end
  }

  /** A heartbeat has come. */
  heartbeat(worker: PoolWorker): void {
    const { heartbeatTimeout } = this.#pool.settings
    worker.stalledBeats = worker.mainAge < heartbeatTimeout ? 0 : worker.stalledBeats + 1
    if (worker.stalledBeats < BEATS || !runsNothing(worker)) return
    this.#endUnlessItMoves(
      worker,
      `Its main thread had not turned for ${heartbeatTimeout} ms while no job ran: something that a task left behind holds it.`,
      () => worker.stalledBeats >= BEATS,
    )
  }

  /** Looks, without any heartbeat, for jobs that lie in a worker and are not taken up; `late` ms too late itself. */
  scan(late: number): void {
    const { hub, settings, workers } = this.#pool
    const before = this.#held
    this.#held = new Map()
    // The machine stood still as a whole: that is no silence of the worker's.
    if (late > settings.maintainInterval / 2) return
    for (const worker of workers.values()) {
      const job = worker.jobs.sent.peek()
      // What a recall has taken back may still be on its way: a pipe that is full is given no job.
      if ((job === undefined && worker.recalls === 0 && !worker.writing) || worker.upAt === 0 || !runsNothing(worker)) continue
      const { recalls } = worker
      const { bytes } = worker.writer
      const then = before.get(worker)
      const same = then !== undefined && then.job === job && then.bytes === bytes
      const unknown = job === undefined || worker.writing
      const since = same ? then.since : unknown ? hub.now() : Math.max(worker.lastProgressAt, worker.heldSince)
      this.#held.set(worker, { job, bytes, since })
      if (!same || hub.now() - since < settings.heartbeatTimeout) continue
      const what =
        job !== undefined ? `taken up the job '${job.name}'` : worker.recalls > 0 ? 'given back what it was asked for' : 'read what was written to it'
      this.#endUnlessItMoves(
        worker,
        `It had not ${what} within ${settings.heartbeatTimeout} ms while no job ran.`,
        () =>
          worker.jobs.sent.peek() === job &&
          worker.recalls === recalls &&
          worker.writer.bytes === bytes &&
          (job !== undefined || recalls > 0 || worker.writing),
      )
    }
  }

  /** Read before you judge. `stands`: it has not answered meanwhile, be it with what it gives back. */
  #endUnlessItMoves(worker: PoolWorker, why: string, stands: () => boolean): void {
    const { lastProgressAt } = worker
    this.#pool.hub.whenReadEmpty(
      () => worker.readers,
      () => {
        if (runsNothing(worker) && worker.lastProgressAt === lastProgressAt && stands()) this.#end(worker, why)
      },
    )
  }
}

const runsNothing = (worker: PoolWorker): boolean => worker.alive && worker.state !== 'retiring' && !worker.unusable && worker.jobs.running.size === 0
