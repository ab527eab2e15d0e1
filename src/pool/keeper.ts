import { MemoryLimitError } from '../wire/errors.js'
import { MAX_DELIVERY } from '../worker/claim.js'
import type { Fleet } from './fleet.js'
import type { PoolState } from './state.js'
import type { PoolWorker } from './worker.js'

/** Watches over the health of workers: recycling, memory, age, heartbeats, and the round of maintenance below all of it. */
export class Keeper {
  readonly #pool: PoolState
  readonly #fleet: Fleet
  readonly #stop: (() => void)[]

  constructor(pool: PoolState, fleet: Fleet) {
    this.#pool = pool
    this.#fleet = fleet
    const { hub, settings } = pool
    this.#stop = [
      hub.callRepeatedly(settings.maintainInterval, () => this.#maintain()),
      hub.callRepeatedly(settings.heartbeatInterval, (late) => this.#listen(late)),
    ]
    const scaling = settings.minWorkers < settings.maxWorkers
    if (scaling && settings.keepAlive < settings.maintainInterval) {
      this.#stop.push(hub.callRepeatedly(Math.max(20, settings.keepAlive / 2), () => fleet.retireIdle()))
    }
  }

  stop(): void {
    for (const stop of this.#stop) stop()
  }

  /** Judged at each answer, each acceptance and each heartbeat: a worker that is due gets no new job. */
  judge(worker: PoolWorker): void {
    const { settings, hub } = this.#pool
    const { books } = worker
    if (worker.rss > settings.hardMemoryLimit && books.running.size > 0) {
      worker.condemn(
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
      worker.rss > settings.maxMemoryPerWorker ||
      (settings.maxAgePerWorker !== Number.POSITIVE_INFINITY && hub.now() - worker.upAt > settings.maxAgePerWorker)
    if (due) this.#fleet.retire(worker, 'recycle')
  }

  /** A worker whose watchdog is silent is frozen: killed, once its pipes are read and the host's own stalls are left out. */
  #listen(late: number): void {
    const { hub, settings, workers } = this.#pool
    if (!settings.watchdog) return
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
          worker.condemn('frozen', new Error(`its watchdog was silent for ${settings.heartbeatTimeout} ms.`))
        },
      )
    }
  }

  /** The net below what is seen at once. */
  #maintain(): void {
    for (const worker of this.#pool.workers.values()) {
      if (worker.alive) this.judge(worker)
    }
    this.#fleet.retireIdle()
    this.#fleet.changed()
  }
}
