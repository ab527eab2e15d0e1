import { workerState } from '../state.js'

export type Hook = () => unknown
export interface JobHookInfo {
  readonly id: string
  readonly name: string
  readonly attempt: number
}
export interface JobEndInfo extends JobHookInfo {
  /** How the task ended. 'interrupted': its soft time limit or a cancellation cut its synchronous code short. */
  readonly outcome: 'succeeded' | 'failed' | 'interrupted'
}
export type JobStartHook = (job: JobHookInfo) => unknown
export type JobEndHook = (job: JobEndInfo) => unknown

const add = <F extends (...args: never[]) => unknown>(name: string, list: F[], hook: F): void => {
  if (typeof hook !== 'function') throw new TypeError(`${name}() takes a function; it got ${String(hook)}`)
  list.push(hook)
}

/**
 * Runs (and is awaited) once when the worker starts, after the task modules have loaded and before the first job. An error
 * of it fails the start of the worker. Throws a TypeError if `hook` is no function.
 */
export const onWorkerStart = (hook: Hook): void => add('onWorkerStart', workerState().start, hook)

/**
 * Runs (and is awaited) once when the worker stops, after its last job. Hooks run in the reverse order of their registration.
 * Throws a TypeError if `hook` is no function.
 */
export const onWorkerStop = (hook: Hook): void => add('onWorkerStop', workerState().stop, hook)

/**
 * Runs synchronously before each job; an error of it fails the job. It is not awaited: the task must be called in the same
 * turn. Its time counts against the job's limits. Throws a TypeError if `hook` is no function.
 */
export const onJobStart = (hook: JobStartHook): void => add('onJobStart', workerState().jobStart, hook)

/**
 * Runs synchronously after each job, before its result is sent. An error of it is reported as a fault of the worker; the job
 * keeps its result. It is not awaited; its time counts against the job's limits. Throws a TypeError if `hook` is no function.
 */
export const onJobEnd = (hook: JobEndHook): void => add('onJobEnd', workerState().jobEnd, hook)
