import type { PendingDeadline } from '../../hub/index.js'
import { millisecondsOrZero, plainObject } from '../../util/checks.js'
import { type OptionTable, option, readOptions } from '../../util/option-table.js'
import type { CancelOptions } from '../types.js'

/** How a job has ended. */
export type JobOutcome = { readonly state: 'succeeded'; readonly value: unknown } | JobFailure

/** `unhandled`: the result is not marked as handled. `endedWith`: of a job that was lost with its worker, for its history. */
export type JobFailure = { readonly state: 'failed' | 'cancelled' | 'lost'; readonly error: unknown; readonly unhandled?: boolean; readonly endedWith?: string }

/** The second argument of `job.cancel`. */
export const CANCEL_OPTIONS = {
  grace: option('ms', millisecondsOrZero, undefined, 'how long the running task may take to end; 0: its process is ended at once', '`cancelGrace`'),
} satisfies OptionTable<CancelOptions>

/** The grace in ms; undefined: `cancelGrace`. Throws TypeError. */
export const readGrace = (options: unknown): number | undefined =>
  options === undefined ? undefined : readOptions(CANCEL_OPTIONS, 'job.cancel', plainObject('options', options)).grace

/** State of a cancelled job whose task may still run. `CancelGrace` enforces the grace. */
export interface Cancellation {
  readonly reason: unknown
  /** ms that the task has to end. */
  grace: number
  /** Time at which the grace ends, ms on the hub's clock; 0 until the job is known to run. */
  endsAt: number
  /** Kills the worker at that time. */
  deadline: PendingDeadline | undefined
}
