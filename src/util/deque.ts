/** A queue on a ring buffer: push, shift and peek in constant time. */
export class Deque<T> {
  #items: (T | undefined)[] = new Array(16)
  #mask = 15
  #head = 0
  /** How many items there are; the queue alone changes it. A field, not a getter: it is read a dozen times for each job. */
  size = 0

  push(item: T): void {
    if (this.size === this.#items.length) this.#grow()
    this.#items[(this.#head + this.size++) & this.#mask] = item
  }

  peek(): T | undefined {
    return this.size === 0 ? undefined : this.#items[this.#head]
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head] = undefined
    this.#head = (this.#head + 1) & this.#mask
    this.size--
    return item
  }

  /** The item `index` places behind the head. */
  at(index: number): T | undefined {
    return index < this.size ? this.#items[(this.#head + index) & this.#mask] : undefined
  }

  /** Empties the queue and returns what was in it, in order. */
  drain(): T[] {
    const all: T[] = []
    for (let item = this.shift(); item !== undefined; item = this.shift()) all.push(item)
    return all
  }

  #grow(): void {
    const length = this.#items.length
    const items: (T | undefined)[] = new Array(length * 2)
    for (let i = 0; i < this.size; i++) items[i] = this.#items[(this.#head + i) & this.#mask]
    this.#items = items
    this.#head = 0
    this.#mask = items.length - 1
  }
}
