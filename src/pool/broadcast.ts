import type { JobRecord } from './job.js'
import type { PoolWorker } from './worker.js'

/** One call of `pool.broadcast`: each worker is asked once, whoever leaves or comes meanwhile. */
export class Broadcast {
  readonly #asked = new WeakSet<PoolWorker>()
  readonly #unanswered = new WeakSet<JobRecord>()

  ask(worker: PoolWorker): void {
    this.#asked.add(worker)
  }

  hasAsked(worker: PoolWorker): boolean {
    return this.#asked.has(worker)
  }

  /** The place that this share was for has been taken away. */
  leaveOut(share: JobRecord): void {
    this.#unanswered.add(share)
  }

  leftOut(share: JobRecord): boolean {
    return this.#unanswered.has(share)
  }
}
