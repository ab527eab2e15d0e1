import { SOFT_TO_KILL } from '../../wire/messages.js'
import type { JobRecord } from '../jobs/job.js'
import type { Settings } from '../options.js'
import type { PoolState } from '../pool-state.js'
import type { DrainReason } from '../worker/lifecycle.js'
import type { PoolWorker } from '../worker/worker.js'

/** ms between two checks of a draining worker. One that holds nothing waits no longer than this for a successor that does not come. */
const CHECK_MS = 60_000

/** How long a draining worker may keep its jobs: the longest of their time limits, or `drainTimeout` where a job has none, ms. */
const drainTime = ({ jobs }: PoolWorker, { timeLimit, drainTimeout, cancelGrace }: Settings): number => {
  const ofOne = ({ spec }: JobRecord): number => {
    if (spec.hardLimit > 0) return spec.hardLimit
    return spec.softLimit > 0 ? spec.softLimit + SOFT_TO_KILL * cancelGrace : drainTimeout
  }
  return [...jobs.running].reduce((longest, job) => Math.max(longest, ofOne(job)), timeLimit > 0 ? timeLimit : drainTimeout)
}

/** The ways in which the pool takes a worker out of service. */
export class Retirement {
  readonly #pool: PoolState

  constructor(pool: PoolState) {
    this.#pool = pool
  }

  /** From now on it gets no job of the job queue; jobs reserved for it are still written. It is replaced, but for 'shrink'. One that is still starting is killed. */
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

  /** `time`: what is left of its drain, ms. */
  #limitDrain(worker: PoolWorker, time: number): void {
    const { hub, settings } = this.#pool
    const next = Math.min(time, CHECK_MS)
    const check = (): void => {
      // It is its successor that is late.
      if (worker.holdsNothing) worker.quit(5 * settings.cancelGrace)
      else if (next < time) this.#limitDrain(worker, time - next)
      else worker.killFor('killed by the pool', new Error('It was to be replaced and its jobs did not end in time (their time limits, or drainTimeout).'))
    }
    worker.drainUntil(hub.callLater(next, check))
  }

  /** Its main thread does not turn: it gets no new job, gives back what has not begun, and is killed after `cancelGrace`. */
  markUnresponsive(worker: PoolWorker): void {
    const { hub, settings } = this.#pool
    if (!worker.alive || worker.unresponsive) return
    worker.markDefective('unresponsive')
    worker.drain('unresponsive')
    worker.recall()
    const kill = (): void => worker.killFor('killed by the pool', new Error('Its main thread did not turn after a time limit or a cancellation.'))
    hub.deadlineAfterRead(settings.cancelGrace, () => worker.readers, kill)
    this.#pool.requestBalance()
  }

  /**
   * It stalls, and no job runs there: it gets nothing more, gives back what has not begun, and is replaced. It is killed after
   * `cancelGrace`, once nothing can begin there any more. If it turns after all, and something has begun, it quits when that has ended.
   */
  quarantine(worker: PoolWorker, why: string): void {
    const { hub, settings } = this.#pool
    if (worker.quarantined) return
    worker.markDefective('quarantined')
    if (worker.isUp) this.retire(worker, 'quarantined')
    else worker.recall()
    const kill = (): void => {
      if (!worker.alive || worker.jobs.running.size > 0) return
      // The RECALL is not answered: what it was given may still begin. Without a watchdog it is the main thread that answers.
      if (settings.watchdog && worker.recalls > 0) killLater()
      else worker.killFor('killed by the pool', new Error(why))
    }
    const killLater = (): void => void hub.deadlineAfterRead(settings.cancelGrace, () => worker.readers, kill)
    killLater()
    this.#pool.requestBalance()
  }
}
