import type { HeapIndices, Row } from './row.js'

/** A binary heap of rows. A row may be taken out wherever it lies: what is removed must not be kept until its turn comes. */
export class RowHeap {
  readonly #rows: Row[] = []
  readonly #before: (a: Row, b: Row) => boolean
  readonly #slot: keyof HeapIndices

  /** @param before whether `a` comes out before `b`. A row must leave the heap before it changes what this reads, or by `delete` right after that. */
  constructor(before: (a: Row, b: Row) => boolean, slot: keyof HeapIndices = 'heapIndex') {
    this.#before = before
    this.#slot = slot
  }

  peek(): Row | undefined {
    return this.#rows[0]
  }

  push(row: Row): void {
    this.#up(row, this.#rows.push(row) - 1)
  }

  /** Nothing happens to a row that is not in it. */
  delete(row: Row): void {
    const index = row[this.#slot]
    if (this.#rows[index] !== row) return
    row[this.#slot] = -1
    const last = this.#rows.pop()!
    if (last === row) return
    this.#up(last, index)
    this.#down(last, last[this.#slot])
  }

  /** Takes out the first ones, for as long as `isDue`. */
  takeWhile(isDue: (row: Row) => boolean): Row[] {
    const taken: Row[] = []
    for (let row = this.peek(); row !== undefined && isDue(row); row = this.peek()) {
      this.delete(row)
      taken.push(row)
    }
    return taken
  }

  #put(row: Row, index: number): void {
    this.#rows[index] = row
    row[this.#slot] = index
  }

  #up(row: Row, from: number): void {
    let index = from
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!this.#before(row, this.#rows[parent]!)) break
      this.#put(this.#rows[parent]!, index)
      index = parent
    }
    this.#put(row, index)
  }

  #down(row: Row, from: number): void {
    const rows = this.#rows
    const half = rows.length >> 1
    let index = from
    while (index < half) {
      let child = 2 * index + 1
      if (child + 1 < rows.length && this.#before(rows[child + 1]!, rows[child]!)) child++
      if (!this.#before(rows[child]!, row)) break
      this.#put(rows[child]!, index)
      index = child
    }
    this.#put(row, index)
  }
}

/** The earliest first. `at`: never undefined for a row that is in the heap. */
export const heapByTime = (at: (row: Row) => number | undefined, slot?: keyof HeapIndices): RowHeap =>
  new RowHeap((a, b) => (at(a) === at(b) ? a.seq < b.seq : at(a)! < at(b)!), slot)
