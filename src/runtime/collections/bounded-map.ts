/**
 * A map of bounded size: it keeps at least the newest `max` entries and at most twice as many. It drops old entries by the whole half, so
 * that no entry is searched for.
 */
export class BoundedMap<V> {
  #young = new Map<string, V>()
  #old = new Map<string, V>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get isEmpty(): boolean {
    return this.#young.size === 0 && this.#old.size === 0
  }

  /** Older ones first. */
  values(): V[] {
    const old = [...this.#old].filter(([key]) => !this.#young.has(key))
    return [...old.map(([, value]) => value), ...this.#young.values()]
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
