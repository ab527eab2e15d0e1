import type { Deadline } from '../../hub/index.js'
import { MemoryLimitError } from '../../wire/errors.js'
import { MAX_DELIVERY } from '../../worker/claim.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'
import type { Fleet } from './fleet.js'
import { StallDetector } from './stall-detector.js'

/** Watches over the health of workers: recycling, memory, age, heartbeats, and the round of maintenance below all of it. */
export class HealthMonitor {
  readonly #pool: PoolState
  readonly #fleet: Fleet
  readonly #standstill: StallDetector
  readonly #stop: (() => void)[]
  /** Silence that is watched from then on, ms. */
  readonly #suspicious: number
  #nextLook: Deadline | undefined
  #stopped = false
  #warned = false

  constructor(pool: PoolState, fleet: Fleet) {
    this.#pool = pool
    this.#fleet = fleet
    const { hub, settings } = pool
    this.#standstill = new StallDetector(pool, (worker, why) => fleet.retirement.quarantine(worker, why))
    this.#stop = [hub.callRepeatedly(settings.maintainInterval, (late) => this.#maintain(late))]
    // Two looks at least lie between suspicion and verdict, so that what stopped host and workers alike is told from silence.
    this.#suspicious = Math.max(settings.heartbeatInterval, settings.heartbeatTimeout - 2 * settings.heartbeatInterval)
    if (settings.watchdog) this.#lookLater()
    const scaling = settings.minWorkers < settings.maxWorkers
    if (scaling && settings.keepAlive < settings.maintainInterval) {
      this.#stop.push(hub.callRepeatedly(Math.max(20, settings.keepAlive / 2), () => fleet.retireIdle()))
    }
  }

  stop(): void {
    this.#stopped = true
    this.#pool.hub.cancel(this.#nextLook)
    for (const stop of this.#stop) stop()
  }

  /** A heartbeat has come. */
  heartbeat(worker: PoolWorker): void {
    this.check(worker)
    this.#standstill.heartbeat(worker)
  }

  /** A worker has come up. */
  up(worker: PoolWorker): void {
    const { settings, log } = this.#pool
    if (worker.rss <= settings.maxMemoryPerWorker || this.#warned) return
    this.#warned = true
    log?.warn(
      { worker: worker.id, rss: worker.rss, maxMemoryPerWorker: settings.maxMemoryPerWorker },
      'a worker is over maxMemoryPerWorker before its first job: it will be replaced after each',
    )
  }

  /** Judged at each answer, each acceptance and each heartbeat: a worker that is due gets no new job. */
  check(worker: PoolWorker): void {
    const { settings, hub } = this.#pool
    const { jobs: books } = worker
    if (worker.rss > settings.hardMemoryLimit && books.running.size > 0) {
      worker.killFor(
        'killed by the pool',
        new MemoryLimitError(
          `The worker's resident memory of ${worker.rss} bytes is over hardMemoryLimit (${settings.hardMemoryLimit} bytes).`,
          settings.hardMemoryLimit,
          worker.rss,
        ),
      )
      return
    }
    if (!worker.isUp) return
    const due =
      books.accepted >= settings.maxJobsPerWorker ||
      books.deliveries >= MAX_DELIVERY ||
      // One that is over it before its first job is no better replaced: so would be the next.
      (worker.rss > settings.maxMemoryPerWorker && books.accepted > 0) ||
      (settings.maxAgePerWorker !== Number.POSITIVE_INFINITY && hub.now() - worker.upAt > settings.maxAgePerWorker)
    if (due) this.#fleet.retirement.retire(worker, 'recycle')
  }

  /** An idle host is not woken for workers that were just heard: the next look is when one of them may have been silent for long. */
  #lookLater(): void {
    const { hub, settings, workers } = this.#pool
    const now = hub.now()
    let wait = this.#suspicious
    for (const worker of workers.values()) {
      if (worker.alive && worker.upAt !== 0) wait = Math.min(wait, worker.lastHeardAt + this.#suspicious - now)
    }
    this.#nextLook = hub.callLater(Math.max(wait, settings.heartbeatInterval), (late) => {
      this.#look(late)
      if (!this.#stopped) this.#lookLater()
    })
  }

  /** A worker whose watchdog is silent is frozen: killed, once its pipes are read and the host's own stalls are left out. */
  #look(late: number): void {
    const { hub, settings, workers } = this.#pool
    const now = hub.now()
    for (const worker of workers.values()) {
      if (!worker.alive || worker.upAt === 0) continue
      // What the host was late itself is no silence of the worker's.
      if (late > settings.heartbeatInterval / 2) worker.lastHeardAt = Math.min(now, worker.lastHeardAt + late)
      if (now - worker.lastHeardAt < settings.heartbeatTimeout) continue
      hub.whenReadEmpty(
        () => worker.readers,
        () => {
          if (!worker.alive || hub.now() - worker.lastHeardAt < settings.heartbeatTimeout) return
          worker.killFor('frozen', new Error(`its watchdog was silent for ${settings.heartbeatTimeout} ms.`))
        },
      )
    }
  }

  /** The net below what is seen at once. */
  #maintain(late: number): void {
    for (const worker of this.#pool.workers.values()) {
      if (worker.alive) this.check(worker)
    }
    this.#standstill.scan(late)
    this.#fleet.retireIdle()
    this.#fleet.changed()
  }
}
