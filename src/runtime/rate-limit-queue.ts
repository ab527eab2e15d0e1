import type { RateLimits } from './rate-limits.js'

/** Longest delay of a timer, ms. */
const MAX_TIMER = 0x7fff_ffff

/** Where turns get their time from. */
export interface QueueClock {
  /** ms on a clock that only goes forward. */
  now(): number
  /** Calls `fn` once, `ms` from now. Answers how to call that off. */
  after(ms: number, fn: () => void): () => void
}

const systemClock: QueueClock = {
  now: () => performance.now(),
  // Keeps the process alive: an idle pool does not, and not every broker does.
  after(ms, fn) {
    const timer = setTimeout(fn, ms)
    return () => clearTimeout(timer)
  },
}

/** What the limits see of a job. */
export interface Limited {
  readonly name: string
  readonly queue: string
}

/**
 * Those that wait for their turn under the rate limits. A token is taken by a beginning and by nothing else. Were it reserved
 * ahead, whoever leaves would have to return it, and under two limits the token of one may have come long before the other's:
 * returned then, it lets too many begin, and kept, those that are given back and come again queue behind what they left.
 */
export class RateLimitQueue<T extends Limited> {
  readonly #limits: RateLimits
  readonly #begin: (item: T) => void
  readonly #clock: QueueClock
  /** By task and queue, with their places in the order of arrival. Alike under the limits: only the first of each is looked at. */
  readonly #lines = new Map<string, Map<T, number>>()
  #arrivals = 0
  #callOff: (() => void) | undefined

  constructor(limits: RateLimits, begin: (item: T) => void, clock: QueueClock = systemClock) {
    this.#limits = limits
    this.#begin = begin
    this.#clock = clock
  }

  /** It begins when its turn comes: at once, perhaps. */
  enter(item: T): void {
    if (!this.#limits.hold(item.name, item.queue)) {
      this.#begin(item)
      return
    }
    const key = keyOf(item)
    const line = this.#lines.get(key)
    // Where others of its kind wait, so does it.
    if (line !== undefined) line.set(item, ++this.#arrivals)
    else {
      this.#lines.set(key, new Map([[item, ++this.#arrivals]]))
      this.look()
    }
  }

  /** It is not to begin, or has begun. */
  leave(item: T): void {
    if (this.#lines.size === 0) return
    this.#remove(item)
    if (this.#lines.size === 0) this.#wakeIn(undefined)
  }

  /** All whose turn has come begin. To be called when a limit has changed. */
  look(): void {
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
    // Last: the end of one that cannot begin may bring others here, or take them away.
    for (const item of begin) this.#begin(item)
  }

  /** Whose turn is next; of several whose turn has come, the one that has waited longest. */
  #next(now: number): { item: T; wait: number } | undefined {
    let next: { item: T; wait: number; arrival: number } | undefined
    for (const line of this.#lines.values()) {
      for (const [item, arrival] of line) {
        const wait = this.#limits.wait(item.name, item.queue, now)
        if (next === undefined || wait < next.wait || (wait === next.wait && arrival < next.arrival)) next = { item, wait, arrival }
        break
      }
    }
    return next
  }

  #remove(item: T): void {
    const key = keyOf(item)
    const line = this.#lines.get(key)
    if (line?.delete(item) && line.size === 0) this.#lines.delete(key)
  }

  #wakeIn(ms: number | undefined): void {
    this.#callOff?.()
    // A timer drops the fraction, and would come too early for nothing.
    this.#callOff = ms === undefined ? undefined : this.#clock.after(Math.min(Math.ceil(ms), MAX_TIMER), () => this.look())
  }
}

const keyOf = ({ name, queue }: Limited): string => JSON.stringify([name, queue])
