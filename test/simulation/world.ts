import { Random } from './random.js'

/** Something that will happen. */
export interface Planned {
  readonly at: number
  readonly seq: number
  readonly fn: () => void | Promise<void>
  cancelled: boolean
}

/**
 * Lets everything that hangs on promises run; no virtual time passes. What `nextTick` is given out of a promise's reaction runs
 * once no other reaction is left; a turn of the real event loop would do the same at ten times the cost.
 */
export const settlePromises = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))

/** Virtual time, and what is to happen when. One thing happens at a time; what it resolves has run before the next. */
export class World {
  /** ms since the world began. */
  now = 0
  readonly random: Random
  /** What has happened, line by line; undefined: nobody wants to know. */
  readonly log: string[] | undefined
  /** Set by whoever may have resolved a promise. */
  touched = false
  readonly #heap: Planned[] = []
  #seq = 0

  constructor(seed: number, traced: boolean) {
    this.random = new Random(seed)
    this.log = traced ? [] : undefined
  }

  say(text: string): void {
    this.log?.push(`${this.now.toFixed(2).padStart(10)}  ${text}`)
  }

  after(ms: number, fn: () => void | Promise<void>): Planned {
    const planned: Planned = { at: this.now + ms, seq: this.#seq++, fn, cancelled: false }
    const heap = this.#heap
    let index = heap.push(planned) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!before(planned, heap[parent]!)) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = planned
    return planned
  }

  /** Everything up to `time` happens. */
  async until(time: number): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.at <= time; next = this.#heap[0]) {
      this.#pop()
      if (next.cancelled) continue
      if (next.at > this.now) this.now = next.at
      const slow = next.fn()
      if (slow !== undefined) await slow
      if (this.touched) {
        this.touched = false
        await settlePromises()
      }
    }
    if (time > this.now) this.now = time
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let index = 0
    const half = heap.length >> 1
    while (index < half) {
      let child = 2 * index + 1
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
      if (!before(heap[child]!, last)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = last
  }
}

const before = (a: Planned, b: Planned): boolean => a.at < b.at || (a.at === b.at && a.seq < b.seq)
