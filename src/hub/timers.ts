import { MAX_TIMER } from '../util/limits.js'
import type { Clock } from './clock.js'

export interface Deadline {
  /** When it is due, ms on the hub's clock. */
  at: number
  cancelled: boolean
  /** Called with how late it is, in ms. */
  fn: (late: number) => void
  seq: number
}

/**
 * All deadlines of a hub: a binary heap over one timer of the clock. A cancelled deadline stays until it comes to the top or
 * until half of the heap is cancelled, so that cancelling costs nothing. A deadline beyond MAX_TIMER takes several timers.
 *
 * It has a heap of its own: with util's Heap, which is given its order as a function, adding and cancelling took 5 to 15 % longer.
 */
export class Timers {
  readonly #clock: Clock
  #heap: Deadline[] = []
  #cancelled = 0
  #seq = 0
  #handle: unknown
  #armedAt = Number.POSITIVE_INFINITY
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(ms: number, fn: (late: number) => void): Deadline {
    const deadline: Deadline = { at: this.#clock.now() + ms, cancelled: this.#closed, fn, seq: this.#seq++ }
    if (this.#closed) return deadline
    this.#heap.push(deadline)
    this.#up(this.#heap.length - 1)
    if (deadline.at < this.#armedAt) this.#arm()
    return deadline
  }

  cancel(deadline: Deadline | undefined): void {
    if (deadline === undefined || deadline.cancelled) return
    deadline.cancelled = true
    this.#cancelled++
    if (this.#cancelled > 64 && this.#cancelled * 2 > this.#heap.length) this.#compact()
  }

  /** Deadlines that are still to come. */
  get size(): number {
    return this.#heap.length - this.#cancelled
  }

  close(): void {
    this.#closed = true
    for (const deadline of this.#heap) deadline.cancelled = true
    this.#heap = []
    this.#cancelled = 0
    this.#disarm()
  }

  #disarm(): void {
    if (this.#armedAt !== Number.POSITIVE_INFINITY) this.#clock.clearTimer(this.#handle)
    this.#armedAt = Number.POSITIVE_INFINITY
  }

  #arm(): void {
    this.#disarm()
    const first = this.#heap[0]
    if (first === undefined) return
    this.#armedAt = first.at
    this.#handle = this.#clock.setTimer(this.#fire, Math.min(MAX_TIMER, Math.max(0, Math.ceil(first.at - this.#clock.now()))))
  }

  readonly #fire = (): void => {
    this.#armedAt = Number.POSITIVE_INFINITY
    const now = this.#clock.now()
    try {
      for (;;) {
        const first = this.#heap[0]
        if (first === undefined || (!first.cancelled && first.at > now)) break
        this.#pop()
        if (first.cancelled) this.#cancelled--
        else {
          first.cancelled = true
          first.fn(now - first.at)
        }
      }
    } finally {
      // Also when a callback has thrown: the other deadlines remain.
      if (!this.#closed && this.#armedAt === Number.POSITIVE_INFINITY) this.#arm()
    }
  }

  #compact(): void {
    this.#heap = this.#heap.filter((deadline) => !deadline.cancelled)
    this.#cancelled = 0
    for (let i = (this.#heap.length >> 1) - 1; i >= 0; i--) this.#down(i)
  }

  #before(a: Deadline, b: Deadline): boolean {
    return a.at < b.at || (a.at === b.at && a.seq < b.seq)
  }

  #up(index: number): void {
    const heap = this.#heap
    const item = heap[index]!
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!this.#before(item, heap[parent]!)) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = item
  }

  #down(index: number): void {
    const heap = this.#heap
    const item = heap[index]!
    const half = heap.length >> 1
    while (index < half) {
      let child = 2 * index + 1
      if (child + 1 < heap.length && this.#before(heap[child + 1]!, heap[child]!)) child++
      if (!this.#before(heap[child]!, item)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = item
  }

  #pop(): void {
    const last = this.#heap.pop()
    if (last === undefined || this.#heap.length === 0) return
    this.#heap[0] = last
    this.#down(0)
  }
}
