/** Parts of the time that is looked back on. */
const PARTS = 30

/** The most workers that were needed at once in the last `keepAlive` ms: a node keeps as many. */
export class Demand {
  readonly #part: number
  /** The most of each part, the newest last. */
  readonly #peaks: { readonly since: number; workers: number }[] = []
  readonly #since: number
  readonly #keepAlive: number

  /** `now`: ms on a monotonic clock. */
  constructor(keepAlive: number, now: number) {
    this.#keepAlive = keepAlive
    this.#part = keepAlive / PARTS
    this.#since = now
  }

  /** So many workers are needed now. */
  note(workers: number, now: number): void {
    const newest = this.#peaks.at(-1)
    if (newest !== undefined && now - newest.since < this.#part) newest.workers = Math.max(newest.workers, workers)
    else this.#peaks.push({ since: now, workers })
    while (this.#peaks[0]!.since + this.#part < now - this.#keepAlive) this.#peaks.shift()
  }

  /** Infinity: nothing can be said yet, as the node has not run for so long. */
  peak(now: number): number {
    if (now - this.#since < this.#keepAlive) return Number.POSITIVE_INFINITY
    return this.#peaks.reduce((most, { workers }) => Math.max(most, workers), 0)
  }
}
