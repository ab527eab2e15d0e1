/**
 * A map that forgets: it holds at least the newest `max` entries and at most twice as many. Two generations take turns, so that
 * nothing has to be looked for when room is made.
 */
export class BoundedMap<V> {
  #young = new Map<string, V>()
  #old = new Map<string, V>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get(key: string): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key)
  }

  has(key: string): boolean {
    return this.#young.has(key) || this.#old.has(key)
  }

  delete(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  set(key: string, value: V): void {
    this.#young.set(key, value)
    if (this.#young.size < this.#max) return
    this.#old = this.#young
    this.#young = new Map()
  }
}
