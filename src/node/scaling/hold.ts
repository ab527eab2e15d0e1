import type { WorkerStats } from '../../pool/types.js'
import type { TaskRuns } from '../../runtime/collections/run-times.js'

/** A job is held ahead only if it begins within this time, ms. */
const BEGINS_WITHIN = 500
/** A task counts for so long after it began last, ms. */
export const LATELY = 10_000
/** A smaller number is used only when it was right for so long, ms: RabbitMQ counts what was on its way to a consumer that is cancelled. */
const LOWER_AFTER = 5_000

/** The largest power of two that is not above `n`; 0 below 1. */
const stepOf = (n: number): number => (n < 1 ? 0 : 2 ** Math.floor(Math.log2(n)))

/**
 * How many jobs a node holds ahead for each slot: as many as begin within half a second, by the 95th percentile of the slowest task that began lately; none
 * where a task among them was never measured. It changes in steps, and seldom. Times in ms on one monotonic clock.
 */
export class Hold {
  readonly #most: number
  #ahead = 0
  /** Since when a smaller number would be right. */
  #lowerSince: number | undefined
  /** Not more before this time. */
  #raiseAt = 0

  /** `most`: jobs ahead for each slot, at most; a fraction where a worker may not hold one for each. */
  constructor(most: number) {
    this.#most = most
  }

  /** For each slot. */
  get ahead(): number {
    return Math.min(this.#most, this.#ahead)
  }

  /** `lately`: the tasks that run, or began in the last `LATELY`. True: the number has changed. */
  update(lately: readonly TaskRuns[], now: number): boolean {
    const before = this.ahead
    const right = rightNumber(lately)
    if (right === undefined) this.#ahead = 0
    else if (right >= this.#ahead) this.#raise(right, now)
    else {
      this.#lowerSince ??= now
      if (now - this.#lowerSince >= LOWER_AFTER) this.#lower(right, now)
    }
    return this.ahead !== before
  }

  #raise(to: number, now: number): void {
    this.#lowerSince = undefined
    if (now >= this.#raiseAt) this.#ahead = to
  }

  #lower(to: number, now: number): void {
    this.#lowerSince = undefined
    this.#raiseAt = now + LOWER_AFTER
    this.#ahead = to
  }
}

/** The part of a worker's statistics that is read. */
type WorkerJobs = Pick<WorkerStats, 'running' | 'job' | 'stalled'>

/** Workers whose slots become free soon, as far as is known: a job that runs for longer than those ahead may wait holds its slot for who knows how long. */
export const movingWorkers = (workers: readonly WorkerJobs[], concurrency: number): number =>
  workers.filter(({ running, job, stalled }) => stalled <= BEGINS_WITHIN && (running < concurrency || (job?.age ?? 0) <= BEGINS_WITHIN)).length

/** Undefined: a task was never measured, or none began lately, so that nothing is known of the next. */
const rightNumber = (lately: readonly TaskRuns[]): number | undefined => {
  if (lately.length === 0) return undefined
  let right = Number.POSITIVE_INFINITY
  for (const { p95 } of lately) {
    if (p95 === undefined) return undefined
    right = Math.min(right, stepOf(BEGINS_WITHIN / Math.max(p95, 0.001)))
  }
  return right
}
