import type { CurrentJob } from './current-job.js'
import type { TaskOptions } from './tasks/define-task.js'
import type { Hook, JobEndHook, JobStartHook } from './tasks/hooks.js'

/** What the worker's own code and every copy of `prefork/worker` in this process share. */
export interface ProcessState {
  /** True in a worker process, false where a task module is merely imported, for example by a unit test. */
  inWorker: boolean
  /** A task module has imported `prefork/worker`: jobs must be told apart across awaits. */
  contextWanted: boolean
  /** Options given to `defineTask`, by the function that it returned. */
  readonly tasks: WeakMap<object, TaskOptions>
  readonly start: Hook[]
  readonly stop: Hook[]
  readonly jobStart: JobStartHook[]
  readonly jobEnd: JobEndHook[]
  /** The job in whose async context the caller runs; set by the worker. */
  current(): CurrentJob | undefined
}

const KEY = Symbol.for('prefork.worker')

/** On `globalThis`, because a task module may bring its own copy of this package. */
export const workerState = (): ProcessState => {
  const holder = globalThis as { [KEY]?: ProcessState }
  holder[KEY] ??= {
    inWorker: false,
    contextWanted: false,
    tasks: new WeakMap(),
    start: [],
    stop: [],
    jobStart: [],
    jobEnd: [],
    current: () => undefined,
  }
  return holder[KEY]
}
