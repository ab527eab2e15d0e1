import { MAX_SECONDS, type RateSample } from './samples.js'

/** Durations of one second that are kept. Later ones of a busy second are left out. */
const MAX_DURATIONS = 100

export interface Latency {
  /** ms */
  readonly median: number
  /** ms: one run in a hundred took longer. */
  readonly p99: number
}

/** A time of all nodes together. */
export interface FarmTime {
  /** Its begin, ms since the epoch by the clock of this machine. */
  readonly at: number
  /** Jobs per second that succeeded or were given up. */
  readonly ended: number
  /** Of these, those that were given up. */
  readonly failed: number
  /** Undefined: no run ended. */
  readonly latency: Latency | undefined
}

interface Second {
  ended: number
  failed: number
  readonly durations: number[]
}

/** Throughput and latency of the last ten minutes, second by second. It has those of nodes that have gone, too. */
export class FarmHistory {
  readonly #seconds = new Map<number, Second>()
  /** Of the last report, by its step and the first second of each time: what is over does not change, and to sort all durations again takes long. */
  readonly #latencies = new Map<number, Map<number, Latency | undefined>>()

  /** What one node has done between two heartbeats: each second between gets its share. */
  add({ at, span, ended, failed }: RateSample): void {
    const from = (at - span) / 1_000
    const to = at / 1_000
    for (let number = Math.floor(Math.max(from, to - MAX_SECONDS)); number < to; number++) {
      const share = Math.min(to, number + 1) - Math.max(from, number)
      const second = this.#second(number)
      second.ended += ended * share
      second.failed += failed * share
    }
  }

  /** A run of `duration` ms has ended. `now`: ms since the epoch. */
  ran(duration: number, now: number): void {
    const { durations } = this.#second(Math.floor(now / 1_000))
    if (durations.length < MAX_DURATIONS) durations.push(duration)
  }

  /**
   * The last `seconds`, oldest first, in steps of so many seconds. The second of `now` is left out, and so is a step that lasts. A step begins at a
   * multiple of its length, so that it stays what it is.
   */
  report(now: number, seconds: number, step = 1): FarmTime[] {
    const end = Math.floor(now / 1_000 / step) * step
    const steps = Math.floor(Math.min(seconds, MAX_SECONDS) / step)
    const before = this.#latencies.get(step)
    const times = Array.from({ length: steps }, (_, i) => this.#time(end - (steps - i) * step, step, before))
    this.#latencies.set(step, new Map(times.map(({ at, latency }) => [at / 1_000, latency])))
    return times
  }

  #time(first: number, step: number, before?: ReadonlyMap<number, Latency | undefined>): FarmTime {
    const known = Array.from({ length: step }, (_, i) => this.#seconds.get(first + i) ?? NOTHING)
    const mean = (of: (second: Second) => number): number => known.reduce((sum, second) => sum + of(second), 0) / step
    return {
      at: first * 1_000,
      ended: mean(({ ended }) => ended),
      failed: mean(({ failed }) => failed),
      latency: before?.has(first) === true ? before.get(first) : latencyOf(known.flatMap(({ durations }) => durations)),
    }
  }

  #second(number: number): Second {
    let second = this.#seconds.get(number)
    if (second === undefined) {
      second = { ended: 0, failed: 0, durations: [] }
      this.#seconds.set(number, second)
      // Later ones are from before the clock was set back.
      for (const old of this.#seconds.keys()) if (Math.abs(number - old) > MAX_SECONDS) this.#seconds.delete(old)
    }
    return second
  }
}

const NOTHING: Second = { ended: 0, failed: 0, durations: [] }

const latencyOf = (durations: number[]): Latency | undefined => {
  if (durations.length === 0) return undefined
  durations.sort((a, b) => a - b)
  const at = (share: number): number => durations[Math.min(durations.length - 1, Math.floor(share * durations.length))]!
  return { median: at(0.5), p99: at(0.99) }
}
