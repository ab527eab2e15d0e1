/**
 * Items by id, for thousands of additions and deletions a second. The Map holds slot numbers only, the items lie in an array. V8 rebuilds
 * a Map with as many deletions as additions every few hundred operations, and an old table stays reachable until the next major garbage
 * collection. With the items in the Map, most of them would survive into the old generation.
 */
export class SlotMap<T> {
  readonly #slots = new Map<string, number>()
  readonly #items: (T | undefined)[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#slots.size
  }

  get(id: string): T | undefined {
    const slot = this.#slots.get(id)
    return slot === undefined ? undefined : this.#items[slot]
  }

  /** `id` must not be in the map. */
  add(id: string, item: T): void {
    const slot = this.#free.pop() ?? this.#items.length
    this.#items[slot] = item
    this.#slots.set(id, slot)
  }

  delete(id: string): void {
    const slot = this.#slots.get(id)
    if (slot === undefined) return
    this.#slots.delete(id)
    this.#items[slot] = undefined
    this.#free.push(slot)
  }

  /** A copy, oldest first. */
  values(): T[] {
    return [...this.#slots.values()].map((slot) => this.#items[slot]!)
  }
}
