import { Deque } from '../../util/deque.js'
import { Heap } from '../../util/heap.js'

/** The job queue is swept after this many cancellations, at least: cancelled jobs keep their arguments in memory. */
const MIN_SWEEP = 64
/** Number of jobs of higher priority that may run before the first job of a lower level, if both take turns. After that, the lower job runs next. */
export const MOST_PASSED = 8

/** What the job queue needs to know of a job. */
export interface Ordered {
  /** Submission number. */
  readonly number: number
  readonly priority: number
  /** False once the job was cancelled: the job queue then skips and drops it. */
  readonly waiting: boolean
  /** Its priority is not strict: a lower job that also takes turns runs after `MOST_PASSED` higher ones. */
  readonly takesTurns: boolean
}

const submittedEarlier = (a: Ordered, b: Ordered): boolean => a.number < b.number

/** New jobs of the default priority, in order of submission, that have no object until they are first: `PackedJobs`. */
export interface Packed<T> {
  readonly size: number
  /** That of the first; Infinity if there is none. */
  readonly number: number
  /** The first job, if it has an object already. */
  readonly made: T | undefined
  peek(): T | undefined
  shift(): void
  drain(): T[]
}

/** The jobs of one priority: new jobs in order of submission, and in a small heap the jobs that were put back, which are older. */
class Level<T extends Ordered> {
  fresh = new Deque<T>()
  packed: Packed<T> | undefined
  /** Jobs of higher levels that ran before the first job of this level, where both take turns. */
  passed = 0
  readonly #back = new Heap<T>(submittedEarlier)

  constructor(readonly priority: number) {}

  putBack(job: T): void {
    // The job has had its turn: it does not wait for another.
    this.passed = MOST_PASSED
    this.#back.push(job)
  }

  /** The first job that is still waiting. Drops the jobs before it that are not. */
  first(): T | undefined {
    let fresh = this.fresh.peek()
    for (; fresh !== undefined && !fresh.waiting; fresh = this.fresh.peek()) this.fresh.shift()
    let back = this.#back.peek()
    for (; back !== undefined && !back.waiting; back = this.#back.peek()) this.#back.pop()
    const first = back !== undefined && (fresh === undefined || back.number < fresh.number) ? back : fresh
    const { packed } = this
    // Its object is made only if it is first.
    if (packed === undefined || packed.size === 0 || (first !== undefined && first.number < packed.number)) return first
    const made = packed.peek()
    return first === undefined || (made !== undefined && made.number < first.number) ? made : first
  }

  take(): T | undefined {
    const job = this.first()
    this.passed = 0
    if (job === undefined) return undefined
    if (job === this.packed?.made) this.packed.shift()
    else if (job === this.#back.peek()) this.#back.pop()
    else this.fresh.shift()
    return job
  }

  drain(): T[] {
    const all = [...this.fresh.drain(), ...this.#back.drain(), ...(this.packed?.drain() ?? [])].filter((job) => job.waiting)
    return all.sort((a, b) => a.number - b.number)
  }

  /** Drops all jobs that stopped waiting. False: no job is left. */
  sweep(): boolean {
    const fresh = new Deque<T>()
    for (const job of this.fresh.drain()) if (job.waiting) fresh.push(job)
    this.fresh = fresh
    this.#back.filter((job) => job.waiting)
    return fresh.size + this.#back.size + (this.packed?.size ?? 0) > 0
  }
}

/**
 * The jobs that wait for any worker, ordered by priority, then by submission number: a job that is put back keeps its position. Jobs that
 * take turns do not starve: the first job of a level is due after `MOST_PASSED` jobs of higher levels. Of several due levels the highest is
 * served first.
 * Adding and taking cost the same however many wait. A cancelled job is dropped when it would be next, or by a sweep with many others.
 */
export class JobQueue<T extends Ordered> {
  /** Sorted by priority, the highest first. There are few levels, so an array is fast enough. */
  #levels: Level<T>[] = []
  #size = 0
  /** Jobs that stopped waiting since the last sweep; the next sweep is at `#sweepAt`. */
  #dropped = 0
  #sweepAt = MIN_SWEEP

  /** Jobs that wait. */
  get size(): number {
    return this.#size
  }

  /** A job that has never been written. */
  add(job: T): void {
    this.#level(job.priority).fresh.push(job)
    this.#size++
  }

  /** A job was added to `packed`, from which this queue takes. */
  addPacked(packed: Packed<T>): void {
    this.#level(0).packed = packed
    this.#size++
  }

  /** A job that comes back takes its old place. */
  putBack(job: T): void {
    this.#level(job.priority).putBack(job)
    this.#size++
  }

  /** To be called once for each waiting job that stops waiting without being taken. */
  forget(): void {
    this.#size--
    if (++this.#dropped < this.#sweepAt) return
    this.#levels = this.#levels.filter((level) => level.sweep() || level.priority === 0)
    this.#dropped = 0
    this.#sweepAt = Math.max(MIN_SWEEP, this.#size)
  }

  peek(): T | undefined {
    if (this.#size === 0) return undefined
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
      // An empty level is dropped, because a caller may use a new priority for each job. The level of the default priority stays.
      if (level.priority !== 0) levels.splice(i--, 1)
    }
    return undefined
  }

  /** The level whose turn it is: the level at `top`, or the highest lower level that is due. A lower level never overtakes a strict job. */
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

  /** Empties the job queue. Returns all waiting jobs, in order. */
  drain(): T[] {
    this.#size = 0
    return this.#levels.flatMap((level) => level.drain())
  }

  #level(priority: number): Level<T> {
    const levels = this.#levels
    let i = 0
    while (i < levels.length && levels[i]!.priority > priority) i++
    if (i < levels.length && levels[i]!.priority === priority) return levels[i]!
    const added = new Level<T>(priority)
    levels.splice(i, 0, added)
    return added
  }
}
