/** Rates such as '10/s', '600/m', '1000/h'. */
const RATE = /^\s*(\d+(?:\.\d+)?)\s*\/\s*([smh])\s*$/
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 }

/** Starts per ms. Throws RangeError saying what a rate looks like. */
export const parseRate = (text: unknown): number => {
  const [, figure, unit] = (typeof text === 'string' ? RATE.exec(text) : null) ?? []
  const starts = Number(figure)
  if (unit === undefined || !(starts > 0))
    throw new RangeError(
      `A rate limit is a number of starts per second, minute or hour: '10/s', '600/m', '1000/h'; not ${typeof text === 'string' ? `'${text}'` : String(text)}.`,
    )
  return starts / UNIT_MS[unit as keyof typeof UNIT_MS]
}

/** A bucket holds what so many ms bring: enough to make up for a timer that fires late, and little more than the rate in any second. */
const BURST_MS = 100

/**
 * A token bucket that is reckoned instead of filled: it knows when it would be full again. It holds one token at least. Times in ms,
 * on any clock that only goes forward.
 */
export class TokenBucket {
  /** ms for one token. */
  readonly #interval: number
  /** How far ahead of an even flow it may be, ms. */
  readonly #burst: number
  #fullAt = 0

  constructor(rate: number) {
    this.#interval = 1 / rate
    this.#burst = Math.max(1, Math.floor(rate * BURST_MS)) * this.#interval
  }

  /** How long from `now` until a token is there. */
  wait(now: number): number {
    // In this order a full one answers 0 on any clock: nothing is rounded against `now`.
    return Math.max(0, Math.max(this.#fullAt - now, 0) + this.#interval - this.#burst)
  }

  take(now: number): void {
    this.#fullAt = Math.max(this.#fullAt, now) + this.#interval
  }
}

/** The limits of one node: by task and by queue. A start takes a token of each limit that it falls under. */
export class RateLimits {
  readonly #limits = new Map<string, { text: string; bucket: TokenBucket }>()

  /** `limit`: '10/s' and the like, or null to lift it. */
  set(scope: 'task' | 'queue', name: string, limit: string | null): void {
    const key = `${scope} ${name}`
    if (limit === null) this.#limits.delete(key)
    else this.#limits.set(key, { text: limit.replaceAll(/\s/g, ''), bucket: new TokenBucket(parseRate(limit)) })
  }

  /** Whether a start falls under any. */
  hold(task: string, queue: string): boolean {
    return this.#limits.size > 0 && this.#buckets(task, queue).length > 0
  }

  /** How long from `now` until a token of each limit is there, ms. */
  wait(task: string, queue: string, now: number): number {
    return Math.max(0, ...this.#buckets(task, queue).map((bucket) => bucket.wait(now)))
  }

  take(task: string, queue: string, now: number): void {
    for (const bucket of this.#buckets(task, queue)) bucket.take(now)
  }

  #buckets(task: string, queue: string): TokenBucket[] {
    return [this.#limits.get(`task ${task}`), this.#limits.get(`queue ${queue}`)].flatMap((limit) => limit?.bucket ?? [])
  }

  /** As an operator reads them: `{ 'task resize': '10/s' }`. */
  list(): Record<string, string> {
    return Object.fromEntries([...this.#limits].map(([key, { text }]) => [key, text]))
  }
}
