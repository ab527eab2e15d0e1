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

  /** Spare workers whose processes live, those that drain or retire included. */
  get spares(): number {
    return this.alive().filter((worker) => worker.spare).length
  }

  /** Spare workers that are still to be started, those included that wait until one that drains or retires is gone. */
  get missingSpares(): number {
    const present = this.alive().filter((worker) => worker.spare && (worker.isUp || worker.isStarting))
    return Math.max(0, this.#pool.settings.spare - present.length)
  }

  successor(worker: PoolWorker): PoolWorker | undefined {
    return this.alive().find((each) => each.predecessor === worker)
  }

  /** A worker that is on its way out and has no successor yet. */
  withoutSuccessor(): PoolWorker | undefined {
    return this.alive().find((worker) => !worker.spare && (worker.isBeingReplaced || worker.isDraining) && this.successor(worker) === undefined)
  }
}
