/**
 * Items by id, thousands of which come and go in a second. The Map holds numbers alone: one out of which as much goes as comes in is made
 * anew every few hundred times, and when it has lived for long, so does each that it was before, with all that it held, until the next
 * thorough collection of garbage. With the items in it, most of them outlived the young generation, and cost more than they did alive.
 */
export class SlotMap<T> {
  readonly #places = new Map<string, number>()
  readonly #items: (T | undefined)[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#places.size
  }

  get(id: string): T | undefined {
    const place = this.#places.get(id)
    return place === undefined ? undefined : this.#items[place]
  }

  /** There must be none of this id. */
  add(id: string, item: T): void {
    const place = this.#free.pop() ?? this.#items.length
    this.#items[place] = item
    this.#places.set(id, place)
  }

  delete(id: string): void {
    const place = this.#places.get(id)
    if (place === undefined) return
    this.#places.delete(id)
    this.#items[place] = undefined
    this.#free.push(place)
  }

  /** A copy, oldest first. */
  values(): T[] {
    return [...this.#places.values()].map((place) => this.#items[place]!)
  }
}
