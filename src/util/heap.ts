/** A binary heap: the first item in the order of `before` comes out first. `push` and `pop` take logarithmic time. */
export class Heap<T> {
  readonly #before: (a: T, b: T) => boolean
  #items: T[] = []

  /** @param before whether `a` comes out before `b` */
  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    const items = this.#items
    let index = items.push(item) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!this.#before(item, items[parent]!)) break
      items[index] = items[parent]!
      index = parent
    }
    items[index] = item
  }

  pop(): T | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (last !== undefined && items.length > 0) {
      items[0] = last
      this.#down(0)
    }
    return first
  }

  /** Removes every item for which `keep` is false, in linear time. */
  filter(keep: (item: T) => boolean): void {
    this.#items = this.#items.filter(keep)
    for (let i = (this.#items.length >> 1) - 1; i >= 0; i--) this.#down(i)
  }

  /** Empties the heap and returns its items, in no order. */
  drain(): T[] {
    return this.#items.splice(0)
  }

  #down(start: number): void {
    const items = this.#items
    const item = items[start]!
    const half = items.length >> 1
    let index = start
    while (index < half) {
      let child = 2 * index + 1
      if (child + 1 < items.length && this.#before(items[child + 1]!, items[child]!)) child++
      if (!this.#before(items[child]!, item)) break
      items[index] = items[child]!
      index = child
    }
    items[index] = item
  }
}
