import { AbortRegistry } from '../../util/abort-registry.js'
import { closedError } from '../errors.js'
import type { JobRecord } from '../jobs/job.js'
import type { JobLifecycle } from '../jobs/job-lifecycle.js'
import type { PoolState } from '../pool-state.js'

/** Takes submitted jobs into the pool. */
export class JobIntake {
  readonly #pool: PoolState
  readonly #jobs: JobLifecycle
  readonly #abortSignals: AbortRegistry<JobRecord>

  constructor(pool: PoolState, jobs: JobLifecycle) {
    this.#pool = pool
    this.#jobs = jobs
    this.#abortSignals = new AbortRegistry((job, reason) => jobs.cancel(job, reason))
  }

  /** `place`: takes the job instead of the job queue. */
  add(job: JobRecord, place?: (job: JobRecord) => void): void {
    const pool = this.#pool
    const { signal } = job.spec
    pool.submitted()
    if (pool.events.wants('jobSubmitted')) pool.events.emit('jobSubmitted', { id: job.id, name: job.name })
    if (signal?.aborted) {
      this.#jobs.cancel(job, signal.reason)
      return
    }
    // A stream may be read after the pool was closed.
    if (pool.phase !== 'open') {
      this.#jobs.settle(job, { state: 'failed', error: closedError(`pool.stream('${job.name}')`) })
      return
    }
    if (signal !== undefined) job.onSettled = this.#abortSignals.watch(signal, job)
    if (place !== undefined) place(job)
    else {
      job.inJobQueue = true
      pool.jobQueue.add(job)
    }
    pool.wakeForJob()
  }
}
