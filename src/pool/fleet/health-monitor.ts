import type { Deadline } from '../../hub/index.js'
import { overText } from '../../util/shown-text.js'
import { MemoryLimitError } from '../../wire/errors.js'
import { MAX_DELIVERY } from '../../worker/claim.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'
import type { Fleet } from './fleet.js'
import type { Retirement } from './retirement.js'
import { StallDetector } from './stall-detector.js'

/** The health checks of workers: recycling, memory, age, heartbeats. Every `maintainInterval` repeats all of them. */
export class HealthMonitor {
  readonly #pool: PoolState
  readonly #fleet: Fleet
  readonly #retirement: Retirement
  readonly #stallDetector: StallDetector
  readonly #stop: (() => void)[]
  /** A worker is checked often once it has been silent for this long, ms. */
  readonly #watchedAfter: number
  #nextCheck: Deadline | undefined
  #stopped = false
  #warned = false

  constructor(pool: PoolState, fleet: Fleet, retirement: Retirement) {
    this.#pool = pool
    this.#fleet = fleet
    this.#retirement = retirement
    const { hub, settings } = pool
    this.#stallDetector = new StallDetector(pool, retirement)
    this.#stop = [hub.callRepeatedly(settings.maintainInterval, (late) => this.#maintain(late))]
    // At least two checks lie between this time and the timeout, so that a pause of the whole machine does not count as silence of a worker.
    this.#watchedAfter = Math.max(settings.heartbeatInterval, settings.heartbeatTimeout - 2 * settings.heartbeatInterval)
    if (settings.watchdog) this.#checkLater()
    const scaling = settings.minWorkers < settings.maxWorkers
    if (scaling && settings.keepAlive < settings.maintainInterval) {
      this.#stop.push(hub.callRepeatedly(Math.max(20, settings.keepAlive / 2), () => fleet.retireIdle()))
    }
  }

  stop(): void {
    this.#stopped = true
    this.#pool.hub.cancel(this.#nextCheck)
    for (const stop of this.#stop) stop()
  }

  /** A heartbeat has come. */
  heartbeat(worker: PoolWorker): void {
    this.check(worker)
    this.#stallDetector.heartbeat(worker)
  }

  /** A worker has come up. */
  up(worker: PoolWorker): void {
    const { maxMemoryPerWorker } = this.#pool.settings
    const { rss } = worker.heartbeats
    if (rss <= maxMemoryPerWorker || this.#warned) return
    this.#warned = true
    const details = { worker: worker.id, rss, maxMemoryPerWorker }
    this.#pool.log?.warn(details, 'a worker is over maxMemoryPerWorker before its first job: it will be replaced after each')
  }

  /** Kills a worker over `hardMemoryLimit` that runs a job; retires one that is due for recycling. Called at each acceptance, answer and heartbeat, and every `maintainInterval`. */
  check(worker: PoolWorker): void {
    const { settings, hub } = this.#pool
    const { jobs } = worker
    const { rss } = worker.heartbeats
    if (rss > settings.hardMemoryLimit && jobs.running.size > 0) {
      const text = `The worker's resident memory is ${overText(rss, 'hardMemoryLimit', settings.hardMemoryLimit)}.`
      worker.killFor('killed by the pool', new MemoryLimitError(text, settings.hardMemoryLimit, rss))
      return
    }
    if (!worker.isUp) return
    const due =
      jobs.accepted >= settings.maxJobsPerWorker ||
      jobs.deliveries >= MAX_DELIVERY ||
      // A worker that is over the limit before its first job is kept: its replacement would be over it too.
      (rss > settings.maxMemoryPerWorker && jobs.accepted > 0) ||
      (settings.maxAgePerWorker !== Number.POSITIVE_INFINITY && hub.now() - worker.upAt > settings.maxAgePerWorker)
    if (due) this.#retirement.retire(worker, 'recycle')
  }

  /** Sets the next check to the time at which a worker may have been silent for long. So recent heartbeats do not wake an idle host. */
  #checkLater(): void {
    const { hub, settings, workers } = this.#pool
    const now = hub.now()
    let wait = this.#watchedAfter
    for (const worker of workers.values()) {
      if (worker.alive && worker.upAt !== 0) wait = Math.min(wait, worker.heartbeats.lastAt + this.#watchedAfter - now)
    }
    this.#nextCheck = hub.callLater(Math.max(wait, settings.heartbeatInterval), (late) => {
      this.#checkSilence(late)
      if (!this.#stopped) this.#checkLater()
    })
  }

  /** Kills the workers whose watchdog was silent for `heartbeatTimeout`, once their pipes are read. Time in which the host stalled does not count. */
  #checkSilence(late: number): void {
    const { hub, settings, workers } = this.#pool
    const now = hub.now()
    for (const worker of workers.values()) {
      if (!worker.alive || worker.upAt === 0) continue
      if (late > settings.heartbeatInterval / 2) worker.heartbeats.extendForHostDelay(late, now)
      if (now - worker.heartbeats.lastAt < settings.heartbeatTimeout) continue
      const kill = (): void => {
        if (!worker.alive || hub.now() - worker.heartbeats.lastAt < settings.heartbeatTimeout) return
        worker.killFor('frozen', new Error(`its watchdog was silent for ${settings.heartbeatTimeout} ms.`))
      }
      hub.whenReadEmpty(() => worker.readers, kill)
    }
  }

  /** Repeats all checks, in case an event was missed. */
  #maintain(late: number): void {
    for (const worker of this.#pool.workers.values()) {
      if (worker.alive) this.check(worker)
    }
    this.#stallDetector.scan(late)
    this.#fleet.retireIdle()
    this.#pool.requestBalance()
  }
}
