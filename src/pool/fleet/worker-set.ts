import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'

/** Who is there: the workers of a pool by what they are doing. */
export class WorkerSet {
  readonly #pool: PoolState

  constructor(pool: PoolState) {
    this.#pool = pool
  }

  /** Every worker whose process lives. */
  all(): PoolWorker[] {
    return [...this.#pool.workers.values()].filter((worker) => worker.alive)
  }

  /** At work, or starting to be. */
  serving(): PoolWorker[] {
    return this.all().filter((worker) => !worker.spare && (worker.isUp || worker.state === 'starting'))
  }

  get starting(): number {
    return this.all().filter((worker) => worker.state === 'starting').length
  }

  get anyUp(): boolean {
    return this.all().some((worker) => worker.isUp || worker.state === 'draining')
  }

  /** Stand-bys whose processes live, those on their way out included. */
  get spares(): number {
    return this.all().filter((worker) => worker.spare).length
  }

  /** Stand-bys that are still to be started, those included that wait for the place of one on its way out. */
  get missingSpares(): number {
    const present = this.all().filter((worker) => worker.spare && (worker.isUp || worker.state === 'starting'))
    return Math.max(0, this.#pool.settings.spare - present.length)
  }

  successor(worker: PoolWorker): PoolWorker | undefined {
    return this.all().find((each) => each.predecessor === worker)
  }

  /** A worker on its way out that nobody replaces yet. */
  withoutSuccessor(): PoolWorker | undefined {
    return this.all().find((worker) => !worker.spare && (worker.recycled || worker.state === 'draining') && this.successor(worker) === undefined)
  }
}
