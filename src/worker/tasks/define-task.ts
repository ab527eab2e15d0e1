import { nearest } from '../../util/nearest.js'
import { workerState } from '../worker-state.js'

/** Defaults of a task; a call's own options beat them, and they beat the pool's. */
export interface TaskOptions {
  /** ms from acceptance until the worker is ended (`TimeLimitError`). */
  timeLimit?: number
  /** ms from acceptance until the task's signal aborts (`SoftTimeLimitError`). */
  softTimeLimit?: number
  /** Times that a job may be run again after its worker died: the task is idempotent. */
  retryLost?: number
}

// biome-ignore lint/suspicious/noExplicitAny: any function may be a task; `unknown` would refuse those that take parameters.
type AnyFunction = (...args: any[]) => unknown

const KNOWN = ['timeLimit', 'softTimeLimit', 'retryLost']
/** That of the pool's options: timers of Node hold no more ms. */
const MAX_LIMIT = 0x7fff_ffff

/** Marks a function as a task with defaults of its own. A plain exported function is a task too; this only adds to it. */
export function defineTask<F extends AnyFunction>(fn: F): F
export function defineTask<F extends AnyFunction>(options: TaskOptions, fn: F): F
export function defineTask<F extends AnyFunction>(first: TaskOptions | F, second?: F): F {
  if (typeof first === 'function' && second !== undefined) throw new TypeError('The options of defineTask() come first: defineTask({ timeLimit: 1_000 }, fn).')
  const fn = typeof first === 'function' ? first : second
  const options = typeof first === 'function' ? {} : first
  if (typeof fn !== 'function') throw new TypeError(`defineTask() takes a function, alone or after the options; it got ${String(fn)}`)
  const { tasks } = workerState()
  // The function itself stays the task, so that it keeps its name and kind; only a second definition of one needs another.
  const task = tasks.has(fn) ? (((...args: unknown[]) => fn(...args)) as F) : fn
  tasks.set(task, checked(options))
  return task
}

const checked = (options: TaskOptions): TaskOptions => {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new TypeError(`The options of defineTask() are ${String(options)}, not an object`)
  for (const name of Object.keys(options)) {
    if (KNOWN.includes(name)) continue
    const near = nearest(name, KNOWN)
    throw new TypeError(`defineTask() has no option '${name}'${near === undefined ? '.' : `; did you mean '${near}'?`} It has: ${KNOWN.join(', ')}.`)
  }
  const { timeLimit, softTimeLimit, retryLost } = options
  limit('timeLimit', timeLimit)
  limit('softTimeLimit', softTimeLimit)
  if (retryLost !== undefined && !(Number.isSafeInteger(retryLost) && retryLost >= 0)) {
    throw new TypeError(`retryLost is ${String(retryLost)}; it is a number of runs, 0 or more`)
  }
  if (timeLimit !== undefined && softTimeLimit !== undefined && timeLimit < softTimeLimit) {
    throw new TypeError(`timeLimit (${timeLimit} ms) is below softTimeLimit (${softTimeLimit} ms): the task could never be asked before it is ended`)
  }
  return { timeLimit, softTimeLimit, retryLost }
}

const limit = (name: string, value: number | undefined): void => {
  if (value === undefined) return
  if (typeof value !== 'number' || !(value > 0) || value > MAX_LIMIT) {
    throw new TypeError(`${name} is ${String(value)}; it is a number of milliseconds, more than 0 and at most ${MAX_LIMIT}`)
  }
}
