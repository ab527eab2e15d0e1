import type { JobRecord } from '../jobs/job.js'
import type { Settings } from '../options.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'

/** ms between two looks at a worker that is to leave. One that holds nothing does not wait longer for a successor that does not come. */
const LOOK_MS = 60_000

/** How long a worker that is to leave may keep its jobs: as long as their limits of time say, or `drainTimeout` where one has none, ms. */
const drainTime = ({ jobs: books }: PoolWorker, { timeLimit, drainTimeout, cancelGrace }: Settings): number => {
  const ofOne = ({ spec }: JobRecord): number => {
    if (spec.hardLimit > 0) return spec.hardLimit
    return spec.softLimit > 0 ? spec.softLimit + 5 * cancelGrace : drainTimeout
  }
  return [...books.running].reduce((longest, job) => Math.max(longest, ofOne(job)), timeLimit > 0 ? timeLimit : drainTimeout)
}

export const holdsNothing = ({ jobs: books, pinned, isolatedRetries: suspects, recalls }: PoolWorker): boolean =>
  books.inFlight === 0 && pinned.length === 0 && suspects.length === 0 && recalls === 0

/** The ways in which a worker is made to leave. */
export class Retirement {
  readonly #pool: PoolState
  readonly #changed: () => void

  constructor(pool: PoolState, changed: () => void) {
    this.#pool = pool
    this.#changed = changed
  }

  /** No new job, and its place goes to another: `shrink` to none. */
  retire(worker: PoolWorker, why: 'shrink' | 'restart' | 'recycle'): void {
    const { settings, totals, log } = this.#pool
    if (!worker.isUp && worker.state !== 'starting') return
    if (why !== 'shrink') totals.workersRecycled++
    log?.debug({ worker: worker.id, why }, 'worker retires')
    if (worker.state === 'starting') {
      worker.state = 'retiring'
      worker.expected = true
      worker.kill()
      return
    }
    worker.state = 'draining'
    worker.recycled = why !== 'shrink'
    worker.recall()
    this.#drain(worker, drainTime(worker, settings))
    this.#changed()
  }

  #drain(worker: PoolWorker, time: number): void {
    const { hub, settings } = this.#pool
    const now = Math.min(time, LOOK_MS)
    worker.drainDeadline = hub.callLater(now, () => {
      // It is its successor that is late.
      if (holdsNothing(worker)) worker.quit(5 * settings.cancelGrace)
      else if (now < time) this.#drain(worker, time - now)
      else worker.killFor('killed by the pool', new Error('It was to be replaced and its jobs did not end in time (their time limits, or drainTimeout).'))
    })
  }

  /** Its main thread does not turn: it gets no new job, hands back what it has not begun, and is killed a grace later. */
  markUnresponsive(worker: PoolWorker): void {
    const { hub, settings } = this.#pool
    if (!worker.alive || worker.unresponsive) return
    worker.unresponsive = true
    if (worker.isUp) {
      worker.state = 'draining'
      worker.recycled = true
    }
    worker.recall()
    hub.deadlineAfterRead(
      settings.cancelGrace,
      () => worker.readers,
      () => worker.killFor('killed by the pool', new Error('Its main thread did not turn after a time limit or a cancellation.')),
    )
    this.#changed()
  }

  /**
   * It stands still, and no job runs there: it gets nothing more, hands back what it has not begun, and is replaced. Killed a grace
   * later, once nothing can begin there any more; if it has moved after all, and begun something, it leaves when that has ended.
   */
  quarantine(worker: PoolWorker, why: string): void {
    const { hub, settings } = this.#pool
    if (worker.quarantined) return
    worker.quarantined = true
    if (worker.isUp) this.retire(worker, 'recycle')
    else worker.recall()
    const end = (): void => {
      if (!worker.alive || worker.jobs.running.size > 0) return
      // Not yet answered: what it was given may still begin. Without a watchdog it is the main thread that answers.
      if (settings.watchdog && worker.recalls > 0) judge()
      else worker.killFor('killed by the pool', new Error(why))
    }
    const judge = (): void => void hub.deadlineAfterRead(settings.cancelGrace, () => worker.readers, end)
    judge()
    this.#changed()
  }
}
