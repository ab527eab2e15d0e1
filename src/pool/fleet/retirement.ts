import { SOFT_TO_KILL } from '../../wire/messages.js'
import type { JobRecord } from '../jobs/job.js'
import type { Settings } from '../options.js'
import type { PoolState } from '../pool-state.js'
import type { DrainReason } from '../worker/lifecycle.js'
import type { PoolWorker } from '../worker/worker.js'

/** ms between two checks of a draining worker. A worker that holds nothing waits at most this long for its replacement. */
const CHECK_MS = 60_000

/** How long a draining worker may keep its jobs: the longest of their time limits, or `drainTimeout` where a job has none, ms. */
const drainTime = ({ jobs }: PoolWorker, { timeLimit, drainTimeout, cancelGrace }: Settings): number => {
  const ofOne = ({ limits }: JobRecord): number => {
    if (limits.hardLimit > 0) return limits.hardLimit
    return limits.softLimit > 0 ? limits.softLimit + SOFT_TO_KILL * cancelGrace : drainTimeout
  }
  return [...jobs.running].reduce((longest, job) => Math.max(longest, ofOne(job)), timeLimit > 0 ? timeLimit : drainTimeout)
}

/** The ways in which the pool takes a worker out of service. */
export class Retirement {
  readonly #pool: PoolState

  constructor(pool: PoolState) {
    this.#pool = pool
  }

  /**
   * From now on the worker gets no job of the job queue; jobs reserved for it are still written. It is replaced, unless the reason is 'shrink'. A worker
   * that is still starting is killed.
   */
  retire(worker: PoolWorker, reason: DrainReason): void {
    const { settings, totals, log } = this.#pool
    if (!worker.isUp && !worker.isStarting) return
    if (reason !== 'shrink') totals.workersRecycled++
    log?.debug({ worker: worker.id, why: reason }, 'worker retires')
    if (worker.isStarting) {
      worker.discard()
      return
    }
    worker.drain(reason)
    worker.recall()
    this.#limitDrain(worker, drainTime(worker, settings))
    this.#pool.requestBalance()
  }

  /** `time`: the time left for the drain, ms. */
  #limitDrain(worker: PoolWorker, time: number): void {
    const { hub } = this.#pool
    const next = Math.min(time, CHECK_MS)
    const check = (): void => {
      // The worker is empty. Only its replacement is late.
      if (worker.holdsNothing) worker.quit()
      else if (next < time) this.#limitDrain(worker, time - next)
      else worker.killFor('killed by the pool', new Error('It was to be replaced and its jobs did not end in time (their time limits, or drainTimeout).'))
    }
    worker.drainUntil(hub.callLater(next, check))
  }

  /**
   * The worker's main thread does not turn. The worker gets no new job, gives back the jobs that have not begun, and is killed after `cancelGrace`.
   * `brief`: what it did not obey, where that is known, with the job.
   */
  markUnresponsive(worker: PoolWorker, brief?: string): void {
    const { hub, settings } = this.#pool
    if (!worker.alive || worker.unresponsive) return
    worker.markDefective('unresponsive')
    worker.drain('unresponsive')
    worker.recall()
    const error = new Error('Its main thread did not turn after a time limit or a cancellation.')
    const kill = (): void => worker.killFor('killed by the pool', error, undefined, brief)
    hub.deadlineAfterRead(settings.cancelGrace, () => worker.readers, kill)
    this.#pool.requestBalance()
  }

  /**
   * The worker stalls while it runs no job. It gets no new job, gives back the jobs that have not begun, and is replaced. It is killed after `cancelGrace`,
   * once no job can begin there any more. If a job has begun there after all, the worker quits when that job has ended.
   */
  quarantine(worker: PoolWorker, why: string): void {
    const { hub, settings } = this.#pool
    if (worker.quarantined) return
    worker.markDefective('quarantined')
    if (worker.isUp) this.retire(worker, 'quarantined')
    else worker.recall()
    const kill = (): void => {
      worker.recorded.acceptIfRecorded()
      if (!worker.alive || worker.jobs.running.size > 0) return
      // The RECALL is not answered, so a job there may still begin. Without a watchdog nobody answers it: the main thread would have to.
      if (settings.watchdog && worker.recalls > 0) killLater()
      else worker.killFor('killed by the pool', new Error(why))
    }
    const killLater = (): void => void hub.deadlineAfterRead(settings.cancelGrace, () => worker.readers, kill)
    killLater()
    this.#pool.requestBalance()
  }
}
