import { PreforkError } from '../wire/errors.js'
import type { JobDelivery } from '../wire/messages.js'
import { workerState } from './state.js'

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

// A module that loads this may call `currentJob()` at any time, also after an await: jobs must be told apart from the first on.
workerState().contextWanted = true

/**
 * The job in which the caller runs, also after an `await`. In a worker but outside a job it throws a PreforkError (`ERR_PREFORK_NO_JOB`). Outside a worker,
 * where a unit test calls a task directly, it returns a job that is never cancelled and whose reports go nowhere.
 */
export const currentJob = (): CurrentJob => {
  const state = workerState()
  const job = state.current()
  if (job !== undefined) return job
  if (state.inWorker) {
    throw new PreforkError(
      'ERR_PREFORK_NO_JOB',
      'currentJob() was called outside a job: it works in a task and in what the task calls and awaits, not while a module loads, in a worker hook, or in work that outlives its job.',
    )
  }
  return detached()
}

const silent = (): void => {}
const silentLog: JobLogger = Object.assign(() => {}, { debug: silent, info: silent, warn: silent, error: silent })

const detached = (): CurrentJob => ({
  id: 'detached',
  name: 'detached',
  attempt: 1,
  signal: new AbortController().signal,
  log: silentLog,
  progress: silent,
  context: undefined,
  delivery: undefined,
})
