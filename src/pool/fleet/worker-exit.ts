import type { WorkerStartError } from '../../wire/errors.js'
import { lostReason, startError } from '../errors.js'
import type { FirstWorker } from '../first-worker.js'
import type { JobLifecycle } from '../jobs/job-lifecycle.js'
import type { PoolState } from '../pool-state.js'
import { StartTimeoutError } from '../worker/phase-deadline.js'
import type { PoolWorker } from '../worker/worker.js'
import type { RollingRestart } from './rolling-restart.js'
import type { WorkerSet } from './worker-set.js'

/** What a worker's exit means for the fleet. What it means for the jobs of the worker is in `jobs/jobs-of-dead-worker.ts`. */
export class WorkerExit {
  readonly #pool: PoolState
  readonly #workers: WorkerSet
  readonly #restarts: RollingRestart
  readonly #jobs: JobLifecycle
  readonly #firstWorker: FirstWorker

  constructor(pool: PoolState, workers: WorkerSet, restarts: RollingRestart, jobs: JobLifecycle, firstWorker: FirstWorker) {
    this.#pool = pool
    this.#workers = workers
    this.#restarts = restarts
    this.#jobs = jobs
    this.#firstWorker = firstWorker
  }

  /** The process is gone. Frames that it had written may still be in the pipes. */
  exited(worker: PoolWorker): void {
    const { totals, log, phase, starts, hub } = this.#pool
    const acceptedNone = worker.jobs.accepted === 0
    if (worker.exit?.signal === 'SIGKILL' && worker.killReason === undefined) worker.oomKilled = this.#pool.oomKills.take()
    const died = !worker.expected || worker.exit?.error !== undefined
    // A worker that came up and stalled before it accepted a job counts as failed, too, even if it obeyed QUIT.
    if (acceptedNone && phase !== 'terminating' && (died || worker.quarantined)) {
      const { cause, error } = worker.killReason ?? {}
      const place = error instanceof StartTimeoutError ? error.at : undefined
      starts.failed(hub.now(), this.#modulesNotAtFault(worker), cause === 'start timeout', place)
    }
    // This was the last worker, and it had run jobs. So a successor is started even if other starts failed meanwhile.
    if (!acceptedNone && died && !this.#workers.anyUp) starts.reset()
    if (died) {
      totals.workersDied++
      log?.error({ worker: worker.id, pid: worker.pid, reason: lostReason(worker), ...worker.exit, stderr: worker.stderr }, 'worker died')
    }
    this.#pool.requestBalance()
  }

  /**
   * The task modules had loaded, or the worker was killed from outside before that. Or no process can be started now, although one could be before: descriptors
   * or memory are short for a while.
   */
  #modulesNotAtFault(worker: PoolWorker): boolean {
    const { upAt, exit, killReason } = worker
    if (upAt !== 0 || killReason?.cause === 'caller' || (exit?.signal === 'SIGKILL' && killReason === undefined)) return true
    return this.#pool.starts.everUp && exit?.error !== undefined
  }

  /** Everything that the dead worker had written is read. */
  outputRead(worker: PoolWorker): void {
    const pool = this.#pool
    pool.workers.delete(worker.id)
    pool.formerWorkers.count++
    pool.formerWorkers.writes += worker.writer.writes
    for (const each of pool.workers.values()) each.forget(worker)
    pool.orphanedJobs.addShares(worker.reserved.takeShares())
    if (pool.starts.broken && worker.jobs.accepted === 0 && (!worker.expected || worker.quarantined)) {
      const error = startError(worker, pool.starts.failures(this.#modulesNotAtFault(worker)), pool.settings)
      this.#restarts.fail(error)
      if (!this.#workers.anyUp) {
        pool.log?.error({ err: error }, 'no worker can be started')
        this.#giveUp(error)
      }
    }
    this.#restarts.gone(worker)
    this.#pool.requestBalance()
  }

  /** No worker can be started: `createPool` and all jobs that wait reject. */
  #giveUp(error: WorkerStartError): void {
    this.#firstWorker.reject(error)
    for (const job of this.#pool.takeWaiting()) if (!job.isSettled) this.#jobs.fail(job, error)
  }
}
