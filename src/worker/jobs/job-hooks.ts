import type { JobEndHook, JobEndInfo, JobHookInfo, JobStartHook } from '../tasks/hooks.js'
import type { WorkerJob } from './job.js'

export class JobHooks {
  readonly #start: readonly JobStartHook[]
  readonly #end: readonly JobEndHook[]
  readonly #poolId: string
  readonly #onFault: (error: unknown, job: WorkerJob) => void
  /** The job whose hooks are being called. A job that was terminated in a hook stays here, for it has settled. */
  inside: WorkerJob | undefined

  constructor(start: readonly JobStartHook[], end: readonly JobEndHook[], poolId: string, onFault: (error: unknown, job: WorkerJob) => void) {
    this.#start = start
    this.#end = end
    this.#poolId = poolId
    this.#onFault = onFault
  }

  /** Whether `after` has anything to do. (A hook may also be registered while jobs run.) */
  get any(): boolean {
    return this.#end.length > 0
  }

  /** An error of a hook fails the job. */
  before(job: WorkerJob): void {
    job.begun = true
    if (this.#start.length === 0) return
    const info = this.#infoOf(job)
    this.inside = job
    try {
      for (const hook of this.#start) hook(info)
    } finally {
      this.inside = undefined
    }
  }

  /** An error of a hook is reported and changes nothing for the job. A job whose arguments could not be decoded never began: no hook runs after it. */
  after(job: WorkerJob, outcome: JobEndInfo['outcome']): void {
    if (!job.begun) return
    const info = { ...this.#infoOf(job), outcome }
    this.inside = job
    for (const hook of this.#end) {
      try {
        hook(info)
      } catch (error) {
        this.#onFault(error, job)
      }
    }
    this.inside = undefined
  }

  #infoOf(job: WorkerJob): JobHookInfo {
    return { id: job.id(this.#poolId), name: job.name, attempt: job.attempt }
  }
}
