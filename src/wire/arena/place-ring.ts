/** What is in use: from `start` to `end`, under the key that frees it. */
interface Used {
  readonly start: number
  readonly end: number
  readonly key: number
}

/**
 * Hands out places of a memory of fixed size, and takes them back in the order in which it gave them, or from the end. It begins at 0 again whenever nothing is
 * in use: so few jobs at a time touch few pages, which stay in the cache.
 */
export class PlaceRing {
  readonly #used: Used[] = []

  constructor(readonly capacity: number) {}

  get empty(): boolean {
    return this.#used.length === 0
  }

  /** The start of so many free bytes, or -1. `key`: for `freeUpTo` and `freeBetween`, not below that of the last place. */
  take(bytes: number, key: number): number {
    const start = this.#free(bytes)
    if (start >= 0) this.#used.push({ start, end: start + bytes, key })
    return start
  }

  #free(bytes: number): number {
    const first = this.#used[0]
    const last = this.#used.at(-1)
    if (first === undefined || last === undefined) return bytes <= this.capacity ? 0 : -1
    // What is in use does not go round the end: what is free lies behind it and before it. Full to the byte counts as going round: nothing is free between.
    if (last.end > first.start) {
      if (last.end + bytes <= this.capacity) return last.end
      return bytes <= first.start ? 0 : -1
    }
    return last.end + bytes <= first.start ? last.end : -1
  }

  /** Frees the places whose keys are not above this one. */
  freeUpTo(key: number): void {
    while (this.#used.length > 0 && this.#used[0]!.key <= key) this.#used.shift()
  }

  /** Takes back the last place. */
  freeLast(): void {
    this.#used.pop()
  }

  /** Frees all but the last `count` places. */
  freeAllBut(count: number): void {
    this.#used.splice(0, Math.max(0, this.#used.length - count))
  }

  /** Frees the last places, whose keys are above `after` and not above `upTo`. None, if the last one is above that. */
  freeBetween(after: number, upTo: number): void {
    if ((this.#used.at(-1)?.key ?? 0) > upTo) return
    while (this.#used.length > 0 && this.#used.at(-1)!.key > after) this.#used.pop()
  }
}
