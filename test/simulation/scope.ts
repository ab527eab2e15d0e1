import type { WorkerJob } from '../../src/worker/jobs/job.js'
import type { JobScope } from '../../src/worker/jobs/loop-options.js'

/** Whose code runs; a call that took time ends its native callback, so that what happened meanwhile is heard before the next job. */
export class SimScope implements JobScope {
  tookTime = false
  #current: WorkerJob | undefined

  enter(job: WorkerJob): void {
    this.#current = job
  }

  leave(): boolean {
    this.#current = undefined
    const goOn = !this.tookTime
    this.tookTime = false
    return goOn
  }

  run(_job: WorkerJob, fn: () => void): void {
    fn()
  }

  current(): WorkerJob | undefined {
    return this.#current
  }
}
