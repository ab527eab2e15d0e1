import type { Statements } from './statements.js'

/** Jobs of a queue that end in one state. */
export interface Ended {
  readonly queue: number
  readonly state: number
  /** The number of the last one before this transaction. */
  readonly before: number
  /** Those that count, of this transaction. */
  now: number
  /** All of this transaction. */
  all: number
}

/** What is known of the jobs of a queue that ended in one state, from one transaction to the next. */
interface Trimming {
  /** Those that ended since jobs were last removed. */
  surplus: number
  /** When this many have ended, none is left of those that were to be kept until fewer than MANY more have. */
  fewUntil: number
}

/** Jobs to keep from which on some more may be kept for a while: removed together they cost fewer pages of the log. */
const MANY = 10_000
/** Ends after which the surplus of such jobs is removed: 1 %. */
const TRIM_AFTER = MANY / 100

/** Jobs by queue and state, and how many have ever ended so. Changes gather during a transaction and are stored at its end: one row for each counter, however many jobs moved. */
export class Counters {
  readonly #sql: Statements
  /** By queue and state: state in the lowest three bits. */
  readonly #changes = new Map<number, number>()
  /** Those that ended in this transaction. */
  readonly #ended = new Map<number, Ended>()
  readonly #trimming = new Map<number, Trimming>()

  constructor(sql: Statements) {
    this.#sql = sql
  }

  change(queue: number, state: number, by: number): void {
    const key = queue * 8 + state
    this.#changes.set(key, (this.#changes.get(key) ?? 0) + by)
  }

  moved(queue: number, from: number, to: number): void {
    this.change(queue, from, -1)
    this.change(queue, to, 1)
  }

  /** The number of the last job of a queue that ended so. */
  lastEnded(queue: number, state: number): number {
    const { before, now } = this.#endedOf(queue, state)
    return before + now
  }

  /** One more has ended so. `count`: until so many more have; with 0 it has no number, and pushes out no other. */
  hasEnded(queue: number, state: number, count: number): void {
    const ended = this.#endedOf(queue, state)
    if (count > 0) ended.now++
    ended.all++
    if (count < MANY) {
      const trimming = this.#trimmingOf(ended)
      trimming.fewUntil = Math.max(trimming.fewUntil, ended.before + ended.now + count)
    }
  }

  #trimmingOf({ queue, state, before }: Ended): Trimming {
    const key = queue * 8 + state
    let trimming = this.#trimming.get(key)
    if (trimming === undefined) {
      // Nothing is known of those that ended before.
      trimming = { surplus: 0, fewUntil: before + MANY }
      this.#trimming.set(key, trimming)
    }
    return trimming
  }

  #endedOf(queue: number, state: number): Ended {
    const key = queue * 8 + state
    let ended = this.#ended.get(key)
    if (ended === undefined) {
      ended = { queue, state, before: Number(this.#sql.ended.get(queue, state)?.ended ?? 0), now: 0, all: 0 }
      this.#ended.set(key, ended)
    }
    return ended
  }

  /** Where this transaction is to remove jobs: the number of the last one that ended, and how many may be too many, at most. */
  *takeTrims(): Iterable<{ readonly queue: number; readonly state: number; readonly last: number; readonly surplus: number }> {
    for (const ended of this.#ended.values()) {
      const { queue, state, before, now, all } = ended
      const trimming = this.#trimmingOf(ended)
      const last = before + now
      const surplus = trimming.surplus + all
      const isDue = last <= trimming.fewUntil || surplus >= TRIM_AFTER
      // A transaction that is rolled back changes this too: each trim may remove more than it must, so the next ones make up for it.
      trimming.surplus = isDue ? 0 : surplus
      if (isDue) yield { queue, state, last, surplus }
    }
  }

  store(): void {
    for (const [key, by] of this.#changes) {
      const ended = this.#ended.get(key)?.now ?? 0
      if (by !== 0 || ended !== 0) this.#sql.count.run(Math.floor(key / 8), key % 8, by, ended)
    }
    this.forget()
  }

  forget(): void {
    this.#changes.clear()
    this.#ended.clear()
  }
}
