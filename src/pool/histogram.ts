import type { LatencyStats } from './types.js'

/** Buckets per doubling: a bucket spans 9 %. */
const PER_DOUBLING = 8
/** From 1 µs to about 50 days. */
const BUCKETS = 42 * PER_DOUBLING

/** A histogram of times on a logarithmic scale: constant memory, constant time, quantiles within 10 %. */
export class Histogram {
  /** Doubles: 32 bits would overflow after six hours of no-ops. */
  readonly #buckets = new Float64Array(BUCKETS)
  #count = 0
  #sum = 0
  #min = Number.POSITIVE_INFINITY
  #max = 0

  record(ms: number): void {
    const value = Math.max(ms, 0)
    this.#count++
    this.#sum += value
    if (value < this.#min) this.#min = value
    if (value > this.#max) this.#max = value
    const bucket = value <= 0.001 ? 0 : Math.min(BUCKETS - 1, Math.floor(Math.log2(value * 1_000) * PER_DOUBLING))
    this.#buckets[bucket]!++
  }

  stats(): LatencyStats {
    const count = this.#count
    if (count === 0) return { count: 0, mean: 0, min: 0, p50: 0, p90: 0, p99: 0, max: 0 }
    return {
      count,
      mean: this.#sum / count,
      min: this.#min,
      p50: this.#quantile(0.5),
      p90: this.#quantile(0.9),
      p99: this.#quantile(0.99),
      max: this.#max,
    }
  }

  #quantile(q: number): number {
    const rank = Math.ceil(q * this.#count)
    let seen = 0
    for (let i = 0; i < BUCKETS; i++) {
      seen += this.#buckets[i]!
      if (seen >= rank) {
        const middle = 2 ** ((i + 0.5) / PER_DOUBLING) / 1_000
        return Math.min(this.#max, Math.max(this.#min, middle))
      }
    }
    return this.#max
  }
}
