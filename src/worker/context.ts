import { PreforkError } from '../wire/errors.js'
import type { CurrentJob, JobLogger } from './current-job.js'
import { workerState } from './worker-state.js'

// Whoever loads this may ask at any time, also after an await: jobs must be told apart from the first on.
workerState().contextWanted = true

/**
 * The job in which the caller runs, also after an `await`. In a worker but outside any job it throws; outside a worker,
 * where a unit test calls a task directly, it returns a job of its own that is never cancelled and reports to nobody.
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
