import type { Deadline } from '../../hub/index.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'

/** A backlog must last this long before another worker is started for it: starting one costs more than most jobs. */
const SCALE_AFTER_MS = 10

/** The number of workers wanted: between `min` and `max`, by backlog and idle time. */
export class Autoscaler {
  /** Workers wanted, without spare workers. */
  target: number
  /** The most that `target` may be. */
  max: number
  #min: number
  readonly #pool: PoolState
  #timer: Deadline | undefined

  constructor(pool: PoolState) {
    this.#pool = pool
    this.#min = pool.settings.minWorkers
    this.max = pool.settings.maxWorkers
    this.target = Math.max(1, this.#min)
  }

  resize(min: number, max: number): void {
    this.#min = min
    this.max = max
    this.target = Math.min(max, Math.max(min, this.target))
    this.#pool.requestBalance()
  }

  /** A worker must run the orphaned jobs, also where a pool may shrink to no worker at all. */
  atLeastOne(): void {
    this.target = Math.max(1, this.target)
  }

  /** A smaller target counts once the surplus workers are gone. */
  updateSlotTarget(alive: readonly PoolWorker[]): void {
    const leaving = alive.some((worker) => (worker.isDraining || worker.isRetiring) && !worker.isBeingReplaced && !worker.spare)
    this.#pool.slotTarget = leaving ? Math.max(this.#pool.slotTarget, this.target) : this.target
  }

  /** Jobs wait and no worker has room: raises the target, up to `max`, if the backlog lasts. `starting`: workers on their way up. */
  backlog(starting: number): void {
    const { hub, jobQueue, settings } = this.#pool
    if (this.target >= this.max) return
    const head = jobQueue.peek()
    if (head === undefined) return
    const waited = hub.now() - head.spec.submittedAt
    if (waited >= SCALE_AFTER_MS || this.target === 0) {
      const needed = Math.ceil(jobQueue.size / settings.concurrency) - starting
      if (needed > 0) {
        this.target = Math.min(this.max, this.target + needed)
        this.#pool.requestBalance()
      }
      return
    }
    this.#timer ??= hub.callLater(SCALE_AFTER_MS - waited, () => {
      this.#timer = undefined
      this.#pool.requestBalance()
    })
  }

  /** Takes those out of the target that have been idle for `keepAlive`, down to `min`. */
  idle(serving: readonly PoolWorker[]): PoolWorker[] {
    const { hub, settings, jobQueue } = this.#pool
    if (this.target <= this.#min || jobQueue.size > 0) return []
    const now = hub.now()
    const idle = serving.filter(
      ({ isUp, jobs, reserved, progress }) => isUp && jobs.inFlight === 0 && reserved.empty && now - progress.lastAt >= settings.keepAlive,
    )
    const surplus = idle.slice(0, this.target - this.#min)
    this.target -= surplus.length
    return surplus
  }
}
