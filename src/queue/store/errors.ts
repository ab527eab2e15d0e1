import { shortName } from '../../util/nearest.js'
import { PreforkError } from '../../wire/errors.js'

/** Why a store cannot do what it was asked. */
export type StoreErrorCode =
  /** No room is left on the disk. It passes. */
  | 'ERR_PREFORK_STORE_FULL'
  /** The file is damaged. */
  | 'ERR_PREFORK_STORE_CORRUPT'
  /** The file was removed or replaced while it was open. */
  | 'ERR_PREFORK_STORE_REMOVED'
  /** The store is closed, or its session is. */
  | 'ERR_PREFORK_STORE_CLOSED'
  /** This version of Node, or of SQLite, cannot do it. */
  | 'ERR_PREFORK_STORE_UNSUPPORTED'
  /** There is no such file, it is no database, of a newer version, in a folder that cannot be written, or on a network file system. */
  | 'ERR_PREFORK_STORE_UNUSABLE'
  /** A job depends on one that is not there. */
  | 'ERR_PREFORK_UNKNOWN_DEPENDENCY'

/** A store cannot do what it was asked, and nothing has changed. The message says what to do. */
export class StoreError extends PreforkError {
  declare readonly code: StoreErrorCode
  // It narrows the code.
  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options)
  }
}
// Set here, not in the class: a bundler renames a class that refers to itself, and stacks would show that name.
StoreError.prototype.name = 'StoreError'

const OVER: ReadonlySet<unknown> = new Set<StoreErrorCode>(['ERR_PREFORK_STORE_CORRUPT', 'ERR_PREFORK_STORE_REMOVED', 'ERR_PREFORK_STORE_CLOSED'])

/** Whether the error says that the store can do nothing any more: to try again is no use. */
export const isOver = (error: unknown): boolean => error instanceof StoreError && OVER.has(error.code)

export const storeClosed = (): StoreError => new StoreError('ERR_PREFORK_STORE_CLOSED', 'The store is closed: create the queue or the worker again.')

export const unknownDependency = (id: string, queue: string, dependency: string): StoreError =>
  new StoreError(
    'ERR_PREFORK_UNKNOWN_DEPENDENCY',
    `The job '${shortName(id)}' depends on '${shortName(dependency)}', which is not in the queue '${shortName(queue)}', nor before it among the jobs that are added with it. An ended job is kept for as long as 'keep' says.`,
  )
