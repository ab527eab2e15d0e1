import { jobInBrief } from '../errors.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'
import type { JobRecord } from './job.js'

/** Limits the time that the task of a cancelled job has to end. After that time, its worker is killed. */
export class CancelGrace {
  readonly #pool: PoolState

  constructor(pool: PoolState) {
    this.#pool = pool
  }

  /** The job runs in `worker` and is cancelled: its grace begins. */
  begin(worker: PoolWorker, job: JobRecord): void {
    const { hub } = this.#pool
    const cancellation = job.cancellation!
    const { grace } = cancellation
    const readers = (): PoolWorker['readers'] => worker.readers
    const over = (): void => {
      if (!worker.alive || worker.jobs.running.get(job.delivery) !== job) return
      const why =
        grace === 0
          ? `The job '${job.name}' (${job.id}) was cancelled with a grace of 0 ms.`
          : `The cancelled job '${job.name}' (${job.id}) did not end within ${grace} ms.`
      worker.killFor('killed by the pool', new Error(why), undefined, `cancellation of ${jobInBrief(job)}`)
    }
    cancellation.endsAt = hub.now() + grace
    // At once, but after the pipes are read: an answer that has come counts, and the worker may run another job by now.
    if (grace === 0) hub.whenReadEmpty(readers, over)
    else cancellation.deadline = hub.deadlineAfterRead(grace, readers, over)
  }

  /** The job is cancelled again. Only a shorter grace counts. It counts even if the job has settled, because its task may still run. */
  shorten(job: JobRecord, grace: number | undefined): void {
    const { cancellation } = job
    if (cancellation === undefined || grace === undefined) return
    if (cancellation.endsAt === 0) {
      cancellation.grace = Math.min(cancellation.grace, grace)
      return
    }
    const worker = this.#pool.workers.get(job.holder)
    const left = cancellation.endsAt - this.#pool.hub.now()
    if (worker?.jobs.running.get(job.delivery) !== job || (left > 0 && grace >= left)) return
    // A passed deadline that still exists was extended because the host was late. Keep it: it may be earlier than the new one.
    if (left > 0) cancellation.deadline?.cancel()
    cancellation.grace = grace
    this.begin(worker, job)
  }
}
