import { Deque } from '../../util/deque.js'

/** Cancelled jobs that may lie in the outbox before it is swept, at the least: they hold their arguments. */
const SWEEP_LEAST = 64
/** Of the jobs that take turns: so many of higher priority may pass the first of a level, which is due then. docs/decisions.md says why. */
export const MOST_PASSED = 8

/** What the outbox needs to know of a job. */
export interface Ordered {
  /** Submission number. */
  readonly number: number
  readonly priority: number
  /** False once it was cancelled: it is then passed over and forgotten. */
  readonly waiting: boolean
  /** Its priority is bounded: it takes turns with others of its kind. Among all others the order is strict. */
  readonly takesTurns: boolean
}

/** The jobs of one priority: new ones in order of submission, and those that came back, which are older, in a small heap. */
class Level<T extends Ordered> {
  fresh = new Deque<T>()
  /** Jobs of higher levels that have passed its first one, where both take turns. */
  passed = 0
  #back: T[] = []

  constructor(readonly priority: number) {}

  putBack(job: T): void {
    // It has had its turn, and shall not wait for another.
    this.passed = MOST_PASSED
    const heap = this.#back
    let index = heap.push(job) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (heap[parent]!.number <= job.number) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = job
  }

  /** The first that is still waiting; forgets what is not. */
  first(): T | undefined {
    for (let job = this.fresh.peek(); job !== undefined && !job.waiting; job = this.fresh.peek()) this.fresh.shift()
    while (this.#back.length > 0 && !this.#back[0]!.waiting) this.#popBack()
    const fresh = this.fresh.peek()
    const back = this.#back[0]
    return back !== undefined && (fresh === undefined || back.number < fresh.number) ? back : fresh
  }

  take(): T | undefined {
    const job = this.first()
    this.passed = 0
    if (job === undefined) return undefined
    if (job === this.#back[0]) this.#popBack()
    else this.fresh.shift()
    return job
  }

  drain(): T[] {
    const all = [...this.fresh.drain(), ...this.#back.splice(0)].filter((job) => job.waiting)
    return all.sort((a, b) => a.number - b.number)
  }

  /** Forgets all that stopped waiting; false: nothing is left. */
  sweep(): boolean {
    const fresh = new Deque<T>()
    for (const job of this.fresh.drain()) if (job.waiting) fresh.push(job)
    this.fresh = fresh
    // Sorted, which is a heap.
    this.#back = this.#back.filter((job) => job.waiting).sort((a, b) => a.number - b.number)
    return fresh.size + this.#back.length > 0
  }

  #popBack(): void {
    const heap = this.#back
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let index = 0
    const half = heap.length >> 1
    while (index < half) {
      let child = 2 * index + 1
      if (child + 1 < heap.length && heap[child + 1]!.number < heap[child]!.number) child++
      if (heap[child]!.number >= last.number) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = last
  }
}

/**
 * The jobs that wait for a worker, ordered by (priority, submission number): a job that comes back has its old place. Those that take
 * turns do not starve: when `MOST_PASSED` of higher levels have passed the first of a level, it comes next, after the first of each
 * level between them that is due as well.
 * Taking and adding cost the same however many wait; a cancelled job is passed over when its turn comes, or swept out with
 * many others when no turn comes.
 */
export class Outbox<T extends Ordered> {
  /** Highest priority first; few, so a sorted array does. */
  #levels: Level<T>[] = []
  #size = 0
  /** Forgotten since the last sweep; the next one comes at `#sweepAt`. */
  #forgotten = 0
  #sweepAt = SWEEP_LEAST

  /** Jobs that wait. */
  get size(): number {
    return this.#size
  }

  /** A job that has never been written. */
  add(job: T): void {
    this.#level(job.priority).fresh.push(job)
    this.#size++
  }

  /** A job that comes back, to its old place. */
  putBack(job: T): void {
    this.#level(job.priority).putBack(job)
    this.#size++
  }

  /** To be called once for each waiting job that stops waiting without being taken. */
  forget(): void {
    this.#size--
    if (++this.#forgotten < this.#sweepAt) return
    this.#levels = this.#levels.filter((level) => level.sweep() || level.priority === 0)
    this.#forgotten = 0
    this.#sweepAt = Math.max(SWEEP_LEAST, this.#size)
  }

  peek(): T | undefined {
    const levels = this.#levels
    for (let i = 0; i < levels.length; i++) {
      const job = levels[i]!.first()
      if (job !== undefined) return job.takesTurns ? levels[this.#turn(i)]!.first() : job
    }
    return undefined
  }

  take(): T | undefined {
    const levels = this.#levels
    for (let i = 0; i < levels.length; i++) {
      const level = levels[i]!
      const job = i + 1 < levels.length && level.first()?.takesTurns ? this.#takeInTurn(i) : level.take()
      if (job !== undefined) {
        this.#size--
        return job
      }
      // An empty level of an unusual priority is dropped, so that a caller who counts priorities up costs nothing.
      if (level.priority !== 0) levels.splice(i--, 1)
    }
    return undefined
  }

  /** Whose turn it is: of the level at `top`, or of the highest below it that has let enough pass. None goes before a strict job above it. */
  #turn(top: number): number {
    const levels = this.#levels
    for (let i = top + 1; i < levels.length; i++) {
      const level = levels[i]!
      const first = level.first()
      if (first === undefined) continue
      if (!first.takesTurns) return top
      if (level.passed >= MOST_PASSED) return i
    }
    return top
  }

  #takeInTurn(top: number): T | undefined {
    const levels = this.#levels
    const turn = this.#turn(top)
    for (let i = turn + 1; i < levels.length; i++) {
      const lower = levels[i]!
      lower.passed = lower.first() === undefined ? 0 : lower.passed + 1
    }
    return levels[turn]!.take()
  }

  /** Empties the outbox: all that wait, in order. */
  drain(): T[] {
    this.#size = 0
    return this.#levels.flatMap((level) => level.drain())
  }

  #level(priority: number): Level<T> {
    const levels = this.#levels
    for (let i = 0; i < levels.length; i++) {
      const level = levels[i]!
      if (level.priority === priority) return level
      if (level.priority < priority) {
        const added = new Level<T>(priority)
        levels.splice(i, 0, added)
        return added
      }
    }
    const added = new Level<T>(priority)
    levels.push(added)
    return added
  }
}
