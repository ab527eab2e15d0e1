import { SoftTimeLimitError, TimeLimitError } from '../../wire/errors.js'
import { NO_STACK, SOFT_TO_KILL } from '../../wire/messages.js'
import { jobInBrief } from '../errors.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'
import type { JobRecord } from './job.js'

/** The time limits of running jobs in the host: the host's own deadlines, and the effects of a reached limit on job and worker. */
export class TimeLimits {
  readonly #pool: PoolState
  readonly #fail: (job: JobRecord, error: Error) => void

  constructor(pool: PoolState, fail: (job: JobRecord, error: Error) => void) {
    this.#pool = pool
    this.#fail = fail
  }

  /** Sets the host's deadlines. They are a fallback for the watchdog's (worker/watchdog/thread-link.ts). Without a watchdog there are no others. */
  watch(worker: PoolWorker, job: JobRecord): void {
    const { settings, hub } = this.#pool
    const { softLimit, hardLimit } = job.limits
    const slack = settings.watchdog ? settings.cancelGrace : 0
    const end = (hardLimit > 0 ? hardLimit : softLimit + SOFT_TO_KILL * settings.cancelGrace) + slack
    const ask = (): void => {
      if (job.isSettled) return
      this.softReached(job, worker)
      worker.lifeline.requestSoftLimit(job)
    }
    const readers = (): PoolWorker['readers'] => worker.readers
    const soft = !settings.watchdog && softLimit > 0 ? hub.deadlineAfterRead(softLimit, readers, ask) : undefined
    const hard = hub.deadlineAfterRead(end, readers, () => this.reached(worker, job, NO_STACK))
    // Called when the job settles, and before it runs again: the next attempt has limits of its own.
    job.cancelDeadlines = () => {
      soft?.cancel()
      hard.cancel()
    }
  }

  /** The hard limit has passed, or the final deadline of a job that has only a soft limit. Fails the job and kills the worker. */
  reached(worker: PoolWorker, job: JobRecord, stack: string): void {
    if (worker.jobs.running.get(job.delivery) !== job) return
    const { softLimit, hardLimit } = job.limits
    // A job that is being cancelled settles when its process is gone.
    if (!job.isSettled && job.cancellation === undefined) {
      if (hardLimit > 0) this.#fail(job, new TimeLimitError(`The job '${job.name}' ran longer than its time limit of ${hardLimit} ms.`, hardLimit, stack))
      else this.failSoft(job, stack)
    }
    const kind = hardLimit > 0 ? 'time limit' : 'soft time limit'
    const error = new Error(`The job '${job.name}' (${job.id}) ran longer than its ${kind} of ${hardLimit > 0 ? hardLimit : softLimit} ms.`)
    worker.killFor('killed by the pool', error, undefined, `${kind} of ${jobInBrief(job)}`)
  }

  softReached(job: JobRecord, worker?: PoolWorker): void {
    if (job.softTimedOut) return
    job.softTimedOut = true
    job.emit('softTimeLimit')
    const { events } = this.#pool
    if (events.wants('softTimeLimit')) events.emit('softTimeLimit', { id: job.id, name: job.name, worker: worker?.id ?? job.holder })
  }

  /** The job did not end after its soft limit. */
  failSoft(job: JobRecord, stack: string): void {
    this.softReached(job)
    const { softLimit } = job.limits
    this.#fail(job, new SoftTimeLimitError(`The job '${job.name}' did not end at its soft time limit of ${softLimit} ms.`, softLimit, stack))
  }
}
