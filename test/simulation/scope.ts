import type { WorkerJob } from '../../src/worker/jobs/job.js'
import type { JobScope } from '../../src/worker/jobs/loop-options.js'

/**
 * Knows which job's code is running. A call that took virtual time ends its native callback, so that the messages that arrived meanwhile
 * are handled before the next job.
 */
export class SimScope implements JobScope {
  tookTime = false
  #current: WorkerJob | undefined

  enter(job: WorkerJob): void {
    this.#current = job
  }

  leave(): boolean {
    this.#current = undefined
    const mayContinue = !this.tookTime
    this.tookTime = false
    return mayContinue
  }

  run(_job: WorkerJob, fn: () => void): void {
    fn()
  }

  current(): WorkerJob | undefined {
    return this.#current
  }
}
