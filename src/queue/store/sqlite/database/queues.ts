import { parseRate } from '../../../../runtime/admission/rate-limits.js'
import type { QueueState } from '../../store.js'
import type { Row } from './node-sqlite.js'
import type { Statements } from './statements.js'

/** A token bucket holds what a limit allows in this time, at least one: enough to make up for a timer that fires late, ms. */
const BURST = 100

/** The names of queues and their numbers, and the settings of queues. */
export class Queues {
  readonly #sql: Statements
  readonly #ids = new Map<string, number>()
  readonly #names = new Map<number, string>()

  constructor(sql: Statements) {
    this.#sql = sql
  }

  /** The number of a queue, which is made if it is new. */
  idOf(name: string): number {
    return this.find(name) ?? this.#remember(Number(this.#sql.insertQueue.run(name).lastInsertRowid), name)
  }

  /** Undefined: there is no such queue. */
  find(name: string): number | undefined {
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    const row = this.#sql.queueByName.get(name)
    return row === undefined ? undefined : this.#remember(row.id as number, name)
  }

  nameOf(id: number): string {
    if (!this.#names.has(id)) this.all()
    return this.#names.get(id)!
  }

  all(): number[] {
    return this.#sql.queues.all().map((row) => this.#remember(row.id as number, row.name as string))
  }

  state(name: string): QueueState {
    const row = this.#sql.queueByName.get(name)
    return { paused: row?.paused === 1, rate: (row?.rate as string | null | undefined) ?? null }
  }

  /** Throws RangeError for a rate of another form. */
  set(name: string, { paused, rate }: Partial<QueueState>): QueueState {
    if (typeof rate === 'string') parseRate(rate)
    const id = this.idOf(name)
    const before = this.state(name)
    const after = { paused: paused ?? before.paused, rate: rate === undefined ? before.rate : rate }
    this.#sql.setQueue.run(id, after.paused ? 1 : 0, after.rate)
    return after
  }

  /** A transaction was rolled back: a number may belong to a queue that was not made. */
  forget(): void {
    this.#ids.clear()
    this.#names.clear()
  }

  #remember(id: number, name: string): number {
    this.#ids.set(name, id)
    this.#names.set(id, name)
    return id
  }
}

/** The token bucket of a queue with a rate limit. It stores when it would be full again, on the monotonic clock, which all processes share. */
export class RateBucket {
  readonly #interval: number
  readonly #burst: number
  #fullAt: number

  constructor({ rate, full_at }: Row, now: number) {
    this.#interval = 1 / parseRate(rate)
    this.#burst = Math.max(1, Math.floor(BURST / this.#interval)) * this.#interval
    // A time that no claims can have led to is of another boot.
    this.#fullAt = Number(full_at) > now + this.#burst + this.#interval ? 0 : Number(full_at)
  }

  /** How many may start now. */
  available(now: number): number {
    // The rounding of a large `now` must not cost a start.
    return Math.floor((this.#burst - Math.max(0, this.#fullAt - now)) / this.#interval + 1e-6)
  }

  /** Returns what is to be stored. */
  take(starts: number, now: number): number {
    this.#fullAt = Math.max(this.#fullAt, now) + starts * this.#interval
    return this.#fullAt
  }

  /** ms until one may start. */
  wait(now: number): number {
    return Math.max(0, Math.max(this.#fullAt - now, 0) + this.#interval - this.#burst)
  }
}
