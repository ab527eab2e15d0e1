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

/** Functions of the host, as the option `calls` of a job gives them. */
// biome-ignore lint/suspicious/noExplicitAny: any function may be called; `unknown` would refuse those that take parameters.
export type Calls = Readonly<Record<string, (...args: any[]) => unknown>>

/** Names of the functions in `C`. */
export type CallName<C> = { [K in keyof C]: C[K] extends (...args: never[]) => unknown ? K : never }[keyof C] & string
export type CallArgs<C, N extends CallName<C>> = C[N] extends (...args: infer A) => unknown ? A : never
export type CallResult<C, N extends CallName<C>> = C[N] extends (...args: never[]) => infer R ? Awaited<R> : never

/** What `currentJob()` returns. All of it may be destructured. `C`: the type of the option `calls`. */
export interface CurrentJob<C = Calls> {
  readonly id: string
  readonly name: string
  /**
   * Counts the runs in one pool, from 1: each run after the loss of a worker adds one. Under a broker, the attempt of a user's job is `delivery.attempt`: a retry
   * after a failure adds one.
   */
  readonly attempt: number
  /** Aborts on cancellation, with its reason, and at the soft time limit, with a `SoftTimeLimitError`. */
  readonly signal: AbortSignal
  readonly log: JobLogger
  /** Reports progress: the first value at once, of later ones the newest at most every 50 ms, the last always before the result. */
  readonly progress: (value: unknown) => void
  /**
   * Calls a function of the host, one that the run option `calls` names, with copies of the arguments, and resolves with a copy of what it returns.
   * At most 64 calls of a job may be unanswered at once. Never throws; rejects with what the function throws, or with
   *
   * - a PreforkError: `ERR_PREFORK_UNKNOWN_CALL`, `ERR_PREFORK_NO_CALLS`, `ERR_PREFORK_TOO_MANY_CALLS`, `ERR_PREFORK_CALL_ENDED` (the job has ended, or was
   *   cancelled; one that runs with `cancel: 'ask'` may call until its task has ended, also after its cancellation), `ERR_PREFORK_NO_JOB` (in a hook);
   * - a SerializationError: an argument or the answer cannot be copied, or the arguments or the answer are over `maxMessageSize`;
   * - a TypeError: `name` is no string, or has more than 65,535 bytes.
   */
  readonly call: <N extends CallName<C>>(name: N, ...args: CallArgs<C, N>) => Promise<CallResult<C, N>>
  /** The `context` of the run options. */
  readonly context: unknown
  /** How a message broker delivered the job, so that a task can recognise a second run; undefined for a job of the pool's own host. */
  readonly delivery: JobDelivery | undefined
}

// `currentJob()` may be called after an await, so every job needs an async scope from the first.
workerState().contextWanted = true

/**
 * The job in which the caller runs, also after an `await`. In a worker but outside a job it throws a PreforkError (`ERR_PREFORK_NO_JOB`). Outside a worker,
 * where a unit test calls a task directly, it returns a job that is never cancelled and whose reports go nowhere.
 *
 * `C`: the type of the option `calls` of the job, for `call`: `currentJob<typeof calls>()`. Nothing checks it at run time.
 */
export const currentJob = <C = Calls>(): CurrentJob<C> => {
  const state = workerState()
  const job = state.current()
  if (job !== undefined) return job as unknown as CurrentJob<C>
  if (state.inWorker) {
    throw new PreforkError(
      'ERR_PREFORK_NO_JOB',
      'currentJob() was called outside a job: it works in a task and in what the task calls and awaits, not while a module loads, in a worker hook, or in work that outlives its job.',
    )
  }
  return detached() as unknown as CurrentJob<C>
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
  call: (name) => Promise.reject(new PreforkError('ERR_PREFORK_NO_CALLS', `call('${name}'): outside a worker, there is no host to answer it.`)),
  context: undefined,
  delivery: undefined,
})
