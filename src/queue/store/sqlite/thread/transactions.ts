import { type Database, RESULT, resultCode, type Statement } from '../database/node-sqlite.js'
import { DamagedJob, endDamaged } from '../engine/claim.js'
import type { Effects, StoreContext } from '../engine/context.js'
import { trim } from '../engine/end.js'
import { shiftIntervals } from '../engine/schedules.js'
import { isBusy, tryRepeatedly } from './lock.js'
import { type AnyOperation, apply } from './operations.js'
import type { ThreadState } from './thread-state.js'

/** How one operation went. 'later': nothing was done, as another process holds the lock. */
export type Result = { readonly value: unknown } | { readonly error: unknown } | 'later'

/** Whether the error says something about the file or the disk: another operation would meet it too. */
const isOfFile = (error: unknown): boolean => {
  const code = resultCode(error)
  return code === RESULT.CORRUPT || code === RESULT.NOTADB
}

/** Runs operations, as many as there are in one transaction. */
export class Transactions {
  readonly #context: StoreContext
  readonly #state: ThreadState
  readonly #committed: (effects: Effects) => void
  readonly #begin: Statement
  readonly #commit: Statement
  readonly #rollback: Statement
  readonly #beginRead: Statement

  /** `committed` is called after each commit with what it caused. */
  constructor(database: Database, context: StoreContext, state: ThreadState, committed: (effects: Effects) => void) {
    this.#context = context
    this.#state = state
    this.#committed = committed
    // Taken at once, the lock never has to be refused in the middle of a transaction.
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#rollback = database.prepare('ROLLBACK')
    this.#beginRead = database.prepare('BEGIN')
  }

  /** Runs all in one transaction, or, when that fails, each in its own: one that cannot be done fails alone. */
  run(operations: readonly AnyOperation[]): Result[] {
    const together = this.#runTogether(operations)
    if (Array.isArray(together)) return together
    if (together === 'later') return operations.map(() => 'later')
    if (operations.length === 1 || isOfFile(together.error)) return operations.map(() => together)
    return operations.map((operation) => {
      const alone = this.#runTogether([operation])
      return Array.isArray(alone) ? alone[0]! : alone
    })
  }

  #runTogether(operations: readonly AnyOperation[]): Result[] | { readonly error: unknown } | 'later' {
    for (;;) {
      const done = this.#inTransaction(() => operations.map((operation) => ({ value: apply(this.#context, this.#state, operation) })))
      if (done === 'later' || !('error' in done)) return done
      const { error } = done
      if (!(error instanceof DamagedJob)) return done
      const ended = this.#inTransaction(() => endDamaged(this.#context, error))
      if (ended === 'later') return ended
      if (ended !== undefined) return ended
    }
  }

  #inTransaction<T>(change: () => T): T | { readonly error: unknown } | 'later' {
    const context = this.#context
    let value: T
    try {
      if (!tryRepeatedly(() => this.#tryBegin())) return 'later'
      const jump = context.begin()
      if (jump !== 0) shiftIntervals(context, jump)
      value = change()
      trim(context)
      context.counters.store()
      this.#commit.run()
    } catch (error) {
      this.#undo()
      return isBusy(error) ? 'later' : { error }
    }
    this.#committed(context.effects)
    return value
  }

  #tryBegin(): boolean {
    try {
      this.#begin.run()
      return true
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    }
  }

  #undo(): void {
    this.#context.forget()
    this.#endTransaction()
  }

  /** SQLite may have rolled back by itself. */
  #endTransaction(): void {
    try {
      this.#rollback.run()
    } catch {}
  }

  /** Runs an operation that changes nothing, on one state of the file: its statements must not see the commits of others between them. */
  read(operation: AnyOperation): Result {
    this.#context.clock.read()
    try {
      return { value: this.onOneState(() => apply(this.#context, this.#state, operation)) }
    } catch (error) {
      return isBusy(error) ? 'later' : { error }
    }
  }

  /** Reads on one state of the file, whose locks are taken once. Throws what SQLite throws. */
  onOneState<T>(read: () => T): T {
    this.#beginRead.run()
    try {
      return read()
    } finally {
      this.#endTransaction()
    }
  }
}
