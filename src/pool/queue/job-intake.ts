import { AbortRegistry } from '../../util/abort-registry.js'
import { closedError } from '../errors.js'
import type { JobRecord } from '../jobs/job.js'
import type { JobLifecycle } from '../jobs/job-lifecycle.js'
import type { PoolState } from '../pool-state.js'

/** Where a job that can be run enters the pool; pending jobs keep the host alive, an idle pool does not. */
export class JobIntake {
  readonly #pool: PoolState
  readonly #life: JobLifecycle
  readonly #signals: AbortRegistry<JobRecord>
  #holding = false

  constructor(pool: PoolState, life: JobLifecycle) {
    this.#pool = pool
    this.#life = life
    this.#signals = new AbortRegistry((job, reason) => life.cancel(job, reason))
  }

  /** `place`: where it waits instead of the outbox. */
  enter(job: JobRecord, place?: (job: JobRecord) => void): void {
    const pool = this.#pool
    const { signal } = job.spec
    pool.totals.submitted++
    pool.queued++
    pool.pending++
    if (!this.#holding) {
      this.#holding = true
      pool.hub.hold()
    }
    if (pool.events.wants('jobSubmitted')) pool.events.emit('jobSubmitted', { id: job.id, name: job.name })
    if (signal?.aborted) {
      this.#life.cancel(job, signal.reason)
      return
    }
    if (pool.phase !== 'open') {
      this.#life.settle(job, { state: 'failed', error: closedError(`pool.${job.name}`) })
      return
    }
    if (signal !== undefined) job.onSettled = this.#signals.watch(signal, job)
    if (place !== undefined) place(job)
    else {
      job.inOutbox = true
      pool.outbox.add(job)
    }
    pool.hub.wake()
  }

  releaseWhenIdle(): void {
    if (!this.#holding || this.#pool.pending > 0) return
    this.#holding = false
    this.#pool.hub.release()
  }
}
