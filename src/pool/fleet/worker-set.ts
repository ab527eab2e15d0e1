import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'

/** The living workers of a pool, by what they are doing. */
export class WorkerSet {
  readonly #pool: PoolState

  constructor(pool: PoolState) {
    this.#pool = pool
  }

  /** Every worker whose process lives. */
  alive(): PoolWorker[] {
    return [...this.#pool.workers.values()].filter((worker) => worker.alive)
  }

  /** Up or starting, without spare workers. */
  serving(): PoolWorker[] {
    return this.alive().filter((worker) => !worker.spare && (worker.isUp || worker.isStarting))
  }

  get starting(): number {
    return this.alive().filter((worker) => worker.isStarting).length
  }

  /** A worker is up, or drains. */
  get anyUp(): boolean {
    return this.alive().some((worker) => worker.isUp || worker.isDraining)
  }

  /** Number of spare workers whose processes live, including those that drain or retire. */
  get spares(): number {
    return this.alive().filter((worker) => worker.spare).length
  }

  /** Number of spare workers still to be started. Some of them may have to wait until a draining or retiring spare worker is gone. */
  get missingSpares(): number {
    const present = this.alive().filter((worker) => worker.spare && (worker.isUp || worker.isStarting))
    return Math.max(0, this.#pool.settings.spare - present.length)
  }

  successor(worker: PoolWorker): PoolWorker | undefined {
    return this.alive().find((each) => each.predecessor === worker)
  }

  /** A worker that is being replaced and has no successor yet. */
  withoutSuccessor(): PoolWorker | undefined {
    return this.alive().find((worker) => !worker.spare && (worker.isBeingReplaced || worker.isDraining) && this.successor(worker) === undefined)
  }
}
