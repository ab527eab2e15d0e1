import { type Backoff, backoff, maxAttempts } from '../../util/backoff.js'
import { MAX_TIMER } from '../../util/limits.js'
import { nearest } from '../../util/nearest.js'
import { workerState } from '../state.js'

/** Defaults of a task. The options of a call beat them, and they beat those of the pool. */
export interface TaskOptions {
  /** ms from acceptance until the worker is killed and the job rejects with `TimeLimitError`. Default: the pool's. */
  timeLimit?: number
  /** ms from acceptance until the task's signal aborts with `SoftTimeLimitError`. Default: the pool's. */
  softTimeLimit?: number
  /** How often a job may run again after its worker died; only for an idempotent task. Default: the pool's. */
  retryLost?: number
  /**
   * Attempts of a job in all, the first included, where neither the job nor `taskDefaults` of the node says. Default: the node's. Without effect in a pool
   * without a broker, and under Faktory.
   */
  maxAttempts?: number
  /** The wait between attempts, where neither the job nor `taskDefaults` of the node says. Default: the node's. Without effect as `maxAttempts`. */
  backoff?: Backoff
}

// biome-ignore lint/suspicious/noExplicitAny: any function may be a task; `unknown` would refuse those that take parameters.
type AnyFunction = (...args: any[]) => unknown

const KNOWN = ['timeLimit', 'softTimeLimit', 'retryLost', 'maxAttempts', 'backoff'] as const satisfies readonly (keyof TaskOptions)[]

/** Gives a task defaults of its own. A plain exported function is a task, too. Throws a TypeError for options or a function that cannot be used. */
export function defineTask<F extends AnyFunction>(fn: F): F
export function defineTask<F extends AnyFunction>(options: TaskOptions, fn: F): F
export function defineTask<F extends AnyFunction>(first: TaskOptions | F, second?: F): F {
  if (typeof first === 'function' && second !== undefined) throw new TypeError('The options of defineTask() come first: defineTask({ timeLimit: 1_000 }, fn).')
  const fn = typeof first === 'function' ? first : second
  const options = typeof first === 'function' ? {} : first
  if (typeof fn !== 'function') throw new TypeError(`defineTask() takes a function, alone or after the options; it got ${String(fn)}`)
  const { tasks } = workerState()
  // The function itself stays the task, so that it keeps its name and kind; only its second definition needs another function.
  const task = tasks.has(fn) ? (((...args: unknown[]) => fn(...args)) as F) : fn
  tasks.set(task, checked(options))
  return task
}

const checked = (options: TaskOptions): TaskOptions => {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new TypeError(`The options of defineTask() are ${String(options)}, not an object`)
  for (const name of Object.keys(options)) {
    if ((KNOWN as readonly string[]).includes(name)) continue
    const near = nearest(name, KNOWN)
    throw new TypeError(`defineTask() has no option '${name}'${near === undefined ? '.' : `; did you mean '${near}'?`} It has: ${KNOWN.join(', ')}.`)
  }
  const { timeLimit, softTimeLimit, retryLost } = options
  limit('timeLimit', timeLimit)
  limit('softTimeLimit', softTimeLimit)
  if (retryLost !== undefined && !(Number.isSafeInteger(retryLost) && retryLost >= 0))
    throw new TypeError(`retryLost is ${String(retryLost)}; it is a number of runs, 0 or more`)
  if (timeLimit !== undefined && softTimeLimit !== undefined && timeLimit < softTimeLimit)
    throw new TypeError(`timeLimit (${timeLimit} ms) is below softTimeLimit (${softTimeLimit} ms): the task could never be asked before it is ended`)
  return {
    timeLimit,
    softTimeLimit,
    retryLost,
    ...(options.maxAttempts === undefined ? undefined : { maxAttempts: maxAttempts('maxAttempts', options.maxAttempts) }),
    ...(options.backoff === undefined ? undefined : { backoff: backoff('backoff', options.backoff) }),
  }
}

const limit = (name: string, value: number | undefined): void => {
  if (value === undefined) return
  if (typeof value !== 'number' || !(value > 0) || value > MAX_TIMER)
    throw new TypeError(`${name} is ${String(value)}; it is a number of milliseconds, more than 0 and at most ${MAX_TIMER}`)
}
