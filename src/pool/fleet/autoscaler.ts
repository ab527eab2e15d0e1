import type { Deadline } from '../../hub/index.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'

/** A backlog must last this long before another worker is started: a start costs more than most jobs. */
const SCALE_AFTER_MS = 10

/** The number of workers wanted: between `min` and `max`, by backlog and idle time. */
export class Autoscaler {
  /** Workers wanted, without spare workers. */
  wanted: number
  /** Upper bound of `wanted`. */
  max: number
  #min: number
  readonly #pool: PoolState
  #timer: Deadline | undefined

  constructor(pool: PoolState) {
    this.#pool = pool
    this.#min = pool.settings.minWorkers
    this.max = pool.settings.maxWorkers
    this.wanted = Math.max(1, this.#min)
  }

  resize(min: number, max: number): void {
    this.#min = min
    this.max = max
    this.wanted = Math.min(max, Math.max(min, this.wanted))
    this.#pool.requestBalance()
  }

  /** Orphaned jobs need a worker, also in a pool that may shrink to no worker at all. */
  atLeastOne(): void {
    this.wanted = Math.max(1, this.wanted)
  }

  /** A lower number takes effect when the surplus workers have exited. */
  updateSlotTarget(alive: readonly PoolWorker[]): void {
    const leaving = alive.some((worker) => (worker.isDraining || worker.isRetiring) && !worker.isBeingReplaced && !worker.spare)
    this.#pool.slotTarget = leaving ? Math.max(this.#pool.slotTarget, this.wanted) : this.wanted
  }

  /** Jobs wait and no worker has room. Raises `wanted`, up to `max`, if the backlog lasts. `starting`: the number of workers that are starting. */
  growForBacklog(starting: number): void {
    const { hub, jobQueue, settings } = this.#pool
    if (this.wanted >= this.max) return
    const head = jobQueue.peek()
    if (head === undefined) return
    const waited = hub.now() - head.spec.submittedAt
    if (waited >= SCALE_AFTER_MS || this.wanted === 0) {
      const needed = Math.ceil(jobQueue.size / settings.concurrency) - starting
      if (needed > 0) {
        this.wanted = Math.min(this.max, this.wanted + needed)
        this.#pool.requestBalance()
      }
      return
    }
    this.#timer ??= hub.callLater(SCALE_AFTER_MS - waited, () => {
      this.#timer = undefined
      this.#pool.requestBalance()
    })
  }

  /** Lowers `wanted` by the workers that have been idle for `keepAlive`, down to `min`. Returns these workers. */
  shrinkIdle(serving: readonly PoolWorker[]): PoolWorker[] {
    const { hub, settings, jobQueue } = this.#pool
    if (this.wanted <= this.#min || jobQueue.size > 0) return []
    const now = hub.now()
    const idle = serving.filter(
      ({ isUp, jobs, reserved, progress }) => isUp && jobs.inFlight === 0 && reserved.empty && now - progress.lastAt >= settings.keepAlive,
    )
    const surplus = idle.slice(0, this.wanted - this.#min)
    this.wanted -= surplus.length
    return surplus
  }
}
