import { Random } from './random.js'

export interface ScheduledEvent {
  readonly at: number
  readonly seq: number
  readonly fn: () => void | Promise<void>
  cancelled: boolean
}

/**
 * Runs all pending promise reactions without advancing virtual time. A nextTick callback that a reaction schedules runs after the last
 * reaction. A turn of the real event loop would have the same effect at ten times the cost.
 */
export const settlePromises = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))

/** Virtual time and its event queue. One event runs at a time; the promises that it settles have run their reactions before the next. */
export class World {
  /** ms since the start of the run. */
  now = 0
  readonly random: Random
  /** One line for each event; undefined: the run is not traced. */
  readonly traceLines: string[] | undefined
  /** Set by an event that may have settled a promise. */
  mayHaveSettled = false
  readonly #heap: ScheduledEvent[] = []
  #seq = 0
  #isTraceOver = false

  constructor(seed: number, traced: boolean) {
    this.random = new Random(seed)
    this.traceLines = traced ? [] : undefined
  }

  /** What comes after is not recorded. */
  endTrace(): void {
    this.#isTraceOver = true
  }

  trace(text: string): void {
    if (!this.#isTraceOver) this.traceLines?.push(`${this.now.toFixed(2).padStart(10)}  ${text}`)
  }

  schedule(ms: number, fn: () => void | Promise<void>): ScheduledEvent {
    const event: ScheduledEvent = { at: this.now + ms, seq: this.#seq++, fn, cancelled: false }
    const heap = this.#heap
    let index = heap.push(event) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(event, heap[parent]!)) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = event
    return event
  }

  /** Runs every event that is due by `time`, and advances to it. */
  async runUntil(time: number): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.at <= time; next = this.#heap[0]) {
      this.#pop()
      if (next.cancelled) continue
      if (next.at > this.now) this.now = next.at
      const finished = next.fn()
      if (finished !== undefined) await finished
      if (this.mayHaveSettled) {
        this.mayHaveSettled = false
        await settlePromises()
      }
    }
    if (time > this.now) this.now = time
  }

  /** As `runUntil`, in the midst of an event: reactions of promises wait until it has ended. */
  runNested(time: number): void {
    for (let next = this.#heap[0]; next !== undefined && next.at <= time; next = this.#heap[0]) {
      this.#pop()
      if (next.cancelled) continue
      if (next.at > this.now) this.now = next.at
      void next.fn()
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
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = last
  }
}

const isBefore = (a: ScheduledEvent, b: ScheduledEvent): boolean => a.at < b.at || (a.at === b.at && a.seq < b.seq)
