import type { JobDelivery } from '../wire/messages.js'

/** Writes a line to the job's log; the arguments are formatted as `console.log` does. */
export interface JobLogger {
  (...args: unknown[]): void
  debug(...args: unknown[]): void
  info(...args: unknown[]): void
  warn(...args: unknown[]): void
  error(...args: unknown[]): void
}

/** What `currentJob()` returns. All of it may be destructured. */
export interface CurrentJob {
  readonly id: string
  readonly name: string
  /** Counts from 1; a retry after the loss of a worker adds one. */
  readonly attempt: number
  /** Aborts on cancellation, with its reason, and at the soft time limit, with a `SoftTimeLimitError`. */
  readonly signal: AbortSignal
  readonly log: JobLogger
  /** Reports progress: the first value at once, of later ones the newest at most every 50 ms, the last always before the result. */
  readonly progress: (value: unknown) => void
  /** The `context` of the run options. */
  readonly context: unknown
  /** How a message broker delivered the job, so that a task can recognise a second run; undefined for a job of the pool's own host. */
  readonly delivery: JobDelivery | undefined
}
