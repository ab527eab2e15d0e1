import { AbortRegistry } from '../../util/abort-registry.js'
import { closedError } from '../errors.js'
import type { JobRecord } from '../jobs/job.js'
import type { JobLifecycle } from '../jobs/job-lifecycle.js'
import type { PoolState } from '../pool-state.js'

/** Takes submitted jobs into the pool. Unsettled jobs keep the host alive, an idle pool does not. */
export class JobIntake {
  readonly #pool: PoolState
  readonly #jobs: JobLifecycle
  readonly #abortSignals: AbortRegistry<JobRecord>
  #holding = false

  constructor(pool: PoolState, jobs: JobLifecycle) {
    this.#pool = pool
    this.#jobs = jobs
    this.#abortSignals = new AbortRegistry((job, reason) => jobs.cancel(job, reason))
  }

  /** `place`: takes the job instead of the job queue. */
  add(job: JobRecord, place?: (job: JobRecord) => void): void {
    const pool = this.#pool
    const { signal } = job.spec
    pool.totals.submitted++
    pool.queued++
    pool.unsettled++
    if (!this.#holding) {
      this.#holding = true
      pool.hub.hold()
    }
    if (pool.events.wants('jobSubmitted')) pool.events.emit('jobSubmitted', { id: job.id, name: job.name })
    if (signal?.aborted) {
      this.#jobs.cancel(job, signal.reason)
      return
    }
    if (pool.phase !== 'open') {
      this.#jobs.settle(job, { state: 'failed', error: closedError(`pool.${job.name}`) })
      return
    }
    if (signal !== undefined) job.onSettled = this.#abortSignals.watch(signal, job)
    if (place !== undefined) place(job)
    else {
      job.inJobQueue = true
      pool.jobQueue.add(job)
    }
    pool.hub.wake()
  }

  releaseWhenIdle(): void {
    if (!this.#holding || this.#pool.unsettled > 0) return
    this.#holding = false
    this.#pool.hub.release()
  }
}
