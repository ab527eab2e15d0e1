import type { Statements } from './statements.js'

/** Jobs of a queue that end in one state. */
export interface Ended {
  readonly queue: number
  readonly state: number
  /** The number of the last one before this transaction. */
  readonly before: number
  /** Those that count, of this transaction. */
  now: number
  /** Jobs that may be too many by them, at most. */
  surplus: number
}

/** Jobs by queue and state, and how many have ever ended so. Changes gather during a transaction and are stored at its end: one row for each counter, however many jobs moved. */
export class Counters {
  readonly #sql: Statements
  /** By queue and state: state in the lowest three bits. */
  readonly #changes = new Map<number, number>()
  /** Those that ended in this transaction. */
  readonly #ended = new Map<number, Ended>()

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

  /** One more has ended so. `counted`: it is numbered. */
  hasEnded(queue: number, state: number, counted: boolean): void {
    const ended = this.#endedOf(queue, state)
    if (counted) ended.now++
    ended.surplus++
  }

  #endedOf(queue: number, state: number): Ended {
    const key = queue * 8 + state
    let ended = this.#ended.get(key)
    if (ended === undefined) {
      ended = { queue, state, before: Number(this.#sql.ended.get(queue, state)?.ended ?? 0), now: 0, surplus: 0 }
      this.#ended.set(key, ended)
    }
    return ended
  }

  /** Where jobs ended in this transaction. */
  get ended(): Iterable<Ended> {
    return this.#ended.values()
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
