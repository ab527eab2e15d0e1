import { performance } from 'node:perf_hooks'
import { MAX_TIMER } from '../../util/limits.js'
import { clearTimeout, setTimeout } from '../../util/node-time.js'

/** Rates such as '10/s', '600/m', '1000/h'. */
const RATE = /^\s*(\d+(?:\.\d+)?)\s*\/\s*([smh])\s*$/
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 }

/** Starts per ms. Throws RangeError saying what a rate looks like. */
export const parseRate = (text: unknown): number => {
  const [, number, unit] = (typeof text === 'string' ? RATE.exec(text) : null) ?? []
  const starts = Number(number)
  if (unit === undefined || !(starts > 0))
    throw new RangeError(
      `A rate limit is a number of starts per second, minute or hour: '10/s', '600/m', '1000/h'; not ${typeof text === 'string' ? `'${text}'` : String(text)}.`,
    )
  return starts / UNIT_MS[unit as keyof typeof UNIT_MS]
}

/** A bucket holds the tokens of this time: enough to make up for a timer that fires late, and little above the rate in any second. */
const BURST_MS = 100

/** A token bucket without a timer: it stores when it would be full again. It holds at least one token. Times in ms, on any monotonic clock. */
export class TokenBucket {
  /** ms for one token. */
  readonly #interval: number
  /** The time that a full bucket is worth, ms. */
  readonly #burst: number
  #fullAt = 0

  constructor(rate: number) {
    this.#interval = 1 / rate
    this.#burst = Math.max(1, Math.floor(rate * BURST_MS)) * this.#interval
  }

  /** The time from `now` until a token is available. */
  wait(now: number): number {
    // With this order of operations, a full bucket returns exactly 0: no difference to a large `now` is rounded.
    return Math.max(0, Math.max(this.#fullAt - now, 0) + this.#interval - this.#burst)
  }

  take(now: number): void {
    this.#fullAt = Math.max(this.#fullAt, now) + this.#interval
  }
}

/** The rate limits of one node, by task and by queue. Each start takes a token of every limit that applies to it. */
export class RateLimits {
  readonly #limits = new Map<string, { text: string; bucket: TokenBucket | undefined }>()

  /** `limit`: '10/s', '600/m', '1000/h', or null to lift it. `byBroker`: the limit is only listed here. Throws RangeError for another form. */
  set(scope: 'task' | 'queue', name: string, limit: string | null, byBroker = false): void {
    const key = `${scope} ${name}`
    if (limit === null) this.#limits.delete(key)
    else this.#limits.set(key, { text: limit.replaceAll(/\s/g, ''), bucket: byBroker ? undefined : new TokenBucket(parseRate(limit)) })
  }

  applyTo(task: string, queue: string): boolean {
    return this.#limits.size > 0 && this.#buckets(task, queue).length > 0
  }

  /** The time from `now` until a token of each limit is available, ms. */
  wait(task: string, queue: string, now: number): number {
    return Math.max(0, ...this.#buckets(task, queue).map((bucket) => bucket.wait(now)))
  }

  take(task: string, queue: string, now: number): void {
    for (const bucket of this.#buckets(task, queue)) bucket.take(now)
  }

  #buckets(task: string, queue: string): TokenBucket[] {
    return [this.#limits.get(`task ${task}`), this.#limits.get(`queue ${queue}`)].flatMap((limit) => limit?.bucket ?? [])
  }

  /** The limits as `control stats` shows them: `{ 'task resize': '10/s' }`. */
  list(): Record<string, string> {
    return Object.fromEntries([...this.#limits].map(([key, { text }]) => [key, text]))
  }
}

export interface QueueClock {
  /** ms on a monotonic clock. */
  now(): number
  /** Calls `fn` once, `ms` from now. Returns the function that cancels the call. */
  after(ms: number, fn: () => void): () => void
}

export const systemClock: QueueClock = {
  now: () => performance.now(),
  // The timer keeps the process alive: an idle pool does not, nor does every broker.
  after(ms, fn) {
    const timer = setTimeout(fn, ms)
    return () => clearTimeout(timer)
  },
}

/** The part of a job that the limits read. */
export interface Limited {
  readonly name: string
  readonly queue: string
}

/**
 * Jobs that wait for a rate limit. A job takes its tokens when it begins, and reserves none before: a job that leaves the queue would have to
 * return a reserved token. Under two limits, one token may come long before the other. If such a token is returned late, too many jobs begin.
 * If it is not returned, a requeued job waits for its own reservation.
 */
export class RateLimitQueue<T extends Limited> {
  readonly #limits: RateLimits
  readonly #begin: (item: T) => void
  readonly #clock: QueueClock
  /** Jobs by task and queue, each with its arrival number. The same limits apply to all jobs of one key, so only its first job is checked. */
  readonly #queues = new Map<string, Map<T, number>>()
  #arrivals = 0
  #size = 0
  #cancelTimer: (() => void) | undefined

  constructor(limits: RateLimits, begin: (item: T) => void, clock: QueueClock = systemClock) {
    this.#limits = limits
    this.#begin = begin
    this.#clock = clock
  }

  /** Items that wait. */
  get size(): number {
    return this.#size
  }

  /** Begins `item` as soon as the limits allow, possibly at once. */
  enter(item: T): void {
    if (!this.#limits.applyTo(item.name, item.queue)) {
      this.#begin(item)
      return
    }
    this.#size++
    const key = keyOf(item)
    const waiting = this.#queues.get(key)
    // The item waits behind others of the same task and queue.
    if (waiting !== undefined) waiting.set(item, ++this.#arrivals)
    else {
      this.#queues.set(key, new Map([[item, ++this.#arrivals]]))
      this.check()
    }
  }

  /** Removes an item that has begun or is not to begin. */
  leave(item: T): void {
    if (this.#queues.size === 0) return
    this.#remove(item)
    if (this.#queues.size === 0) this.#wakeIn(undefined)
  }

  /** Begins every item that the limits allow now. To be called when a limit has changed. */
  check(): void {
    const now = this.#clock.now()
    const begin: T[] = []
    let next = this.#next(now)
    while (next?.wait === 0) {
      this.#limits.take(next.item.name, next.item.queue, now)
      this.#remove(next.item)
      begin.push(next.item)
      next = this.#next(now)
    }
    this.#wakeIn(next?.wait)
    // Last, because `begin` may add or remove items.
    for (const item of begin) this.#begin(item)
  }

  /** The item with the shortest wait. Among items without a wait, the item that arrived first. */
  #next(now: number): { item: T; wait: number } | undefined {
    let next: { item: T; wait: number; arrival: number } | undefined
    for (const waiting of this.#queues.values()) {
      for (const [item, arrival] of waiting) {
        const wait = this.#limits.wait(item.name, item.queue, now)
        if (next === undefined || wait < next.wait || (wait === next.wait && arrival < next.arrival)) next = { item, wait, arrival }
        break
      }
    }
    return next
  }

  #remove(item: T): void {
    const key = keyOf(item)
    const waiting = this.#queues.get(key)
    if (!waiting?.delete(item)) return
    this.#size--
    if (waiting.size === 0) this.#queues.delete(key)
  }

  #wakeIn(ms: number | undefined): void {
    this.#cancelTimer?.()
    // Rounded up: a timer drops the fraction and would fire too early.
    this.#cancelTimer = ms === undefined ? undefined : this.#clock.after(Math.min(Math.ceil(ms), MAX_TIMER), () => this.check())
  }
}

const keyOf = ({ name, queue }: Limited): string => JSON.stringify([name, queue])
