interface Event {
  readonly at: number
  readonly number: number
  run: (() => void) | undefined
}

/** Takes back an event that has not come. */
export type Cancel = () => void

const isBefore = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.number < b.number)

/** Virtual time, ms: events come in the order of their times, and those of one time in the order in which they were asked for. */
export class Clock {
  now = 0
  readonly #heap: Event[] = []
  #number = 0

  after(ms: number, run: () => void): Cancel {
    const event: Event = { at: this.now + ms, number: this.#number++, run }
    this.#push(event)
    return () => {
      event.run = undefined
    }
  }

  /** Again and again, the first time after `first` ms. */
  every(ms: number, run: () => void, first = ms): void {
    this.after(first, () => {
      run()
      this.every(ms, run)
    })
  }

  /** Until `isDone`, or the end. False: the end came first. */
  run(end: number, isDone: () => boolean): boolean {
    while (!isDone()) {
      const event = this.#pop()
      if (event === undefined || event.at > end) return false
      if (event.run === undefined) continue
      this.now = event.at
      event.run()
    }
    return true
  }

  #push(event: Event): void {
    const heap = this.#heap
    let at = heap.push(event) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(event, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = event
  }

  #pop(): Event | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return first
  }
}
