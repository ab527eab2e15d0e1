import { type Hook, type JobEndHook, type JobStartHook, workerState } from '../worker-state.js'

const add = <F extends (...args: never[]) => unknown>(name: string, list: F[], hook: F): void => {
  if (typeof hook !== 'function') throw new TypeError(`${name}() takes a function; it got ${String(hook)}`)
  list.push(hook)
}

/** Runs (and is awaited) once when the worker starts, after the task modules have loaded and before it takes jobs. Its failure fails the start. */
export const onWorkerStart = (hook: Hook): void => add('onWorkerStart', workerState().start, hook)

/** Runs (and is awaited) once when the worker leaves, after its last job. Hooks run in the reverse order of their registration. */
export const onWorkerStop = (hook: Hook): void => add('onWorkerStop', workerState().stop, hook)

/** Runs synchronously before each job; a throw fails the job. It is not awaited: the task must be called in the same turn. Its time counts against the job's limits. */
export const onJobStart = (hook: JobStartHook): void => add('onJobStart', workerState().jobStart, hook)

/** Runs synchronously after each job, before its result is sent. Its failure is reported as a fault of the worker; the job keeps its result. Not awaited; its time counts against the job's limits. */
export const onJobEnd = (hook: JobEndHook): void => add('onJobEnd', workerState().jobEnd, hook)
