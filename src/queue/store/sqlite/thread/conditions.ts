import { StoreError } from '../../errors.js'
import type { StoreCondition } from '../../store.js'
import { RESULT, resultCode } from '../database/node-sqlite.js'
import type { ConditionChange, Failure } from '../protocol.js'

/** ms that a file may be locked by another process before the operator is told. */
const LOCKED_AFTER = 5_000

/** ms after which a disk that was full is believed to have room. */
const FULL_FOR = 500

export const failureOf = (error: unknown): Failure =>
  error instanceof Error
    ? { name: error.name, message: error.message, code: error instanceof StoreError ? error.code : undefined }
    : { name: 'Error', message: String(error), code: undefined }

/** An error of SQLite that passes: no room on the disk, or the disk cannot be written at this moment. */
export const isFull = (error: unknown): boolean => {
  const code = resultCode(error)
  return code === RESULT.FULL || code === RESULT.IOERR || code === RESULT.CANTOPEN || code === RESULT.READONLY
}

export const isCorrupt = (error: unknown): boolean => {
  const code = resultCode(error)
  return code === RESULT.CORRUPT || code === RESULT.NOTADB
}

export const fullError = (path: string, cause: unknown): StoreError => {
  const why = resultCode(cause) === RESULT.FULL ? 'no room is left on its disk' : (cause as Error).message
  return new StoreError('ERR_PREFORK_STORE_FULL', `${path} cannot be written: ${why}. Nothing was stored; make room and try again.`, { cause })
}

export const corruptError = (path: string, cause: unknown): StoreError =>
  new StoreError('ERR_PREFORK_STORE_CORRUPT', `${path} is damaged (${(cause as Error).message}): stop its processes and restore it from a backup.`, { cause })

const lockedError = (path: string, ms: number): Error =>
  new Error(
    `${path} has been locked by another process for ${Math.round(ms / 1_000)} s: nothing is claimed or stored until it lets go. Find it with 'fuser ${path}', and let it end its transaction or end it; only prefork may write to the file.`,
  )

export const removedError = (path: string): StoreError =>
  new StoreError(
    'ERR_PREFORK_STORE_REMOVED',
    `${path} was removed or replaced while it was open: what was stored in it is gone. Start its processes again, and never move a file in use.`,
  )

/** What the operator is to know. It ends when all is well again; a damaged or removed file stays so. */
export class Conditions {
  readonly #path: string
  readonly #notify: (change: ConditionChange) => void
  #condition: StoreCondition = 'ok'
  #lockedSince: number | undefined
  #fullUntil = 0
  /** Why the store can do nothing any more. */
  fatal: StoreError | undefined

  constructor(path: string, notify: (change: ConditionChange) => void) {
    this.#path = path
    this.#notify = notify
  }

  /** Nothing is claimed while the disk is full. */
  get isFull(): boolean {
    return this.#condition === 'full'
  }

  /** ms for which the file has been locked. */
  lockedFor(now: number): number {
    this.#lockedSince ??= now
    const lockedFor = now - this.#lockedSince
    if (lockedFor >= LOCKED_AFTER) this.#set('locked', lockedError(this.#path, lockedFor))
    return lockedFor
  }

  full(cause: unknown, now: number): StoreError {
    const error = fullError(this.#path, cause)
    this.#fullUntil = now + FULL_FOR
    this.#lockedSince = undefined
    this.#set('full', error)
    return error
  }

  /** Something was written. Returns whether that ended a condition. */
  written(now: number): boolean {
    this.#lockedSince = undefined
    if (this.fatal !== undefined || this.#condition === 'ok' || (this.#condition === 'full' && now < this.#fullUntil)) return false
    this.#set('ok')
    return true
  }

  end(condition: 'corrupt' | 'removed', error: StoreError): void {
    this.fatal = error
    this.#set(condition, error)
  }

  #set(condition: StoreCondition, error?: Error): void {
    if (this.#condition === condition) return
    this.#condition = condition
    this.#notify({ condition, failure: error === undefined ? undefined : failureOf(error) })
  }
}
