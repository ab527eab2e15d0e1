import type { NodeStats } from '../../runtime/report/report.js'

/** Seconds that are kept. */
export const MAX_SECONDS = 600
/** ms that a sample of a node covers, at least. */
const SAMPLE_TIME = 950

/** Jobs per second between two heartbeats of a node. */
export interface RateSample {
  /** Its end by the clock of this machine, ms since the epoch. */
  readonly at: number
  /** ms */
  readonly span: number
  /** Jobs that succeeded or were given up. */
  readonly ended: number
  /** Of these, those that were given up. */
  readonly failed: number
}

/** The throughput of a node, from the totals in its heartbeats, newest last. */
export class Throughput {
  readonly samples: RateSample[] = []
  #last: { at: number; ended: number; failed: number } | undefined

  /** `at`: by the clock of the node. `now`: by that of this machine. */
  add({ succeeded, failed }: NodeStats['totals'], at: number, now: number): void {
    const ended = succeeded + failed
    const last = this.#last
    // A node that restarted counts from 0.
    if (last === undefined || ended < last.ended) this.#last = { at, ended, failed }
    else if (at - last.at >= SAMPLE_TIME) {
      const perSecond = 1_000 / (at - last.at)
      this.samples.push({ at: now, span: at - last.at, ended: (ended - last.ended) * perSecond, failed: (failed - last.failed) * perSecond })
      if (this.samples.length > MAX_SECONDS) this.samples.shift()
      this.#last = { at, ended, failed }
    }
  }
}

/** Durations of one second that are kept. Later ones of a busy second are left out. */
const MAX_DURATIONS = 500

export interface Latency {
  /** ms */
  readonly median: number
  /** ms: one run in a hundred took longer. */
  readonly p99: number
}

/** How long runs took, by the second in which they ended. */
export class Latencies {
  /** Unsorted while the second lasts. */
  readonly #seconds = new Map<number, number[]>()

  /** Both in ms; `now` since the epoch. */
  add(duration: number, now: number): void {
    const second = Math.floor(now / 1_000)
    const known = this.#seconds.get(second)
    if (known !== undefined) {
      if (known.length < MAX_DURATIONS) known.push(duration)
      return
    }
    this.#seconds.set(second, [duration])
    for (const old of this.#seconds.keys()) {
      if (old > second - MAX_SECONDS) break
      this.#seconds.delete(old)
    }
  }

  /** Undefined: no run ended in that second. */
  of(second: number): Latency | undefined {
    const durations = this.#seconds.get(second)
    if (durations === undefined) return undefined
    const sorted = durations.toSorted((a, b) => a - b)
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
    return { median: at(0.5), p99: at(0.99) }
  }
}

/** One second of all nodes together. */
export interface FarmSecond {
  /** Its begin, ms since the epoch by the clock of this machine. */
  readonly at: number
  /** Jobs per second. */
  readonly ended: number
  readonly failed: number
  readonly latency: Latency | undefined
}

/** The last seconds of all nodes together, newest last; the current second is left out. */
export const farmSeconds = (nodes: Iterable<readonly RateSample[]>, latencies: Latencies, now: number, seconds: number): FarmSecond[] => {
  const last = Math.floor(now / 1_000) - 1
  const first = last - Math.min(seconds, MAX_SECONDS) + 1
  const ended = new Float64Array(last - first + 1)
  const failed = new Float64Array(last - first + 1)
  for (const samples of nodes) {
    for (const sample of samples) {
      const end = Math.floor(sample.at / 1_000)
      const begin = Math.max(first, Math.min(end, Math.floor((sample.at - sample.span) / 1_000) + 1))
      for (let second = begin; second <= Math.min(end, last); second++) {
        ended[second - first]! += sample.ended
        failed[second - first]! += sample.failed
      }
    }
  }
  return Array.from(ended, (each, i) => ({ at: (first + i) * 1_000, ended: each, failed: failed[i]!, latency: latencies.of(first + i) }))
}
