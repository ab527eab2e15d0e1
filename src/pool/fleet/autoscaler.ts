import type { Deadline } from '../../hub/index.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'

/** A backlog must last this long before another worker is started for it: starting one costs more than most jobs. */
const SCALE_AFTER_MS = 10

/** How many workers are wanted: between `min` and `max`, by backlog and idleness. */
export class Autoscaler {
  /** Workers wanted at work. */
  target: number
  /** Workers that may be at work at the most. */
  max: number
  #min: number
  readonly #pool: PoolState
  readonly #changed: () => void
  #timer: Deadline | undefined

  constructor(pool: PoolState, changed: () => void) {
    this.#pool = pool
    this.#changed = changed
    this.#min = pool.settings.minWorkers
    this.max = pool.settings.maxWorkers
    this.target = Math.max(1, this.#min)
  }

  resize(min: number, max: number): void {
    this.#min = min
    this.max = max
    this.target = Math.min(max, Math.max(min, this.target))
    this.#changed()
  }

  /** Somebody must run what a death left, also where a pool may shrink to no worker at all. */
  atLeastOne(): void {
    this.target = Math.max(1, this.target)
  }

  /** A smaller figure counts once those that were too many have left. */
  updateSlotTarget(alive: readonly PoolWorker[]): void {
    const leaving = alive.some((worker) => (worker.state === 'draining' || worker.state === 'retiring') && !worker.recycled && !worker.spare)
    this.#pool.slotTarget = leaving ? Math.max(this.#pool.slotTarget, this.target) : this.target
  }

  /** Jobs wait and no worker has room: more workers, up to `max`, if the backlog lasts. */
  backlog(starting: number): void {
    const { hub, outbox, settings } = this.#pool
    if (this.target >= this.max) return
    const head = outbox.peek()
    if (head === undefined) return
    const waited = hub.now() - head.spec.submittedAt
    if (waited >= SCALE_AFTER_MS || this.target === 0) {
      const needed = Math.ceil(outbox.size / settings.concurrency) - starting
      if (needed > 0) {
        this.target = Math.min(this.max, this.target + needed)
        this.#changed()
      }
      return
    }
    this.#timer ??= hub.callLater(SCALE_AFTER_MS - waited, () => {
      this.#timer = undefined
      this.#changed()
    })
  }

  /** Those that are wanted no more: above `min`, and idle for `keepAlive`. */
  idle(serving: readonly PoolWorker[]): PoolWorker[] {
    const { hub, settings, outbox } = this.#pool
    if (this.target <= this.#min || outbox.size > 0) return []
    const now = hub.now()
    const idle = serving.filter(
      ({ state, jobs, pinned, isolatedRetries, lastProgressAt }) =>
        state === 'up' && jobs.inFlight === 0 && pinned.length === 0 && isolatedRetries.length === 0 && now - lastProgressAt >= settings.keepAlive,
    )
    const leaving = idle.slice(0, this.target - this.#min)
    this.target -= leaving.length
    return leaving
  }
}
