import { PoolClosedError } from '../wire/errors.js'
import type { FirstWorker } from './first-worker.js'
import type { Fleet } from './fleet/fleet.js'
import type { HealthMonitor } from './fleet/health-monitor.js'
import type { JobRecord } from './jobs/job.js'
import type { JobLifecycle } from './jobs/job-lifecycle.js'
import type { PoolState } from './pool-state.js'
import type { QueueCapacity } from './queue/queue-capacity.js'

interface ShutdownParts {
  readonly state: PoolState
  readonly life: JobLifecycle
  readonly fleet: Fleet
  readonly keeper: HealthMonitor
  readonly room: QueueCapacity
  readonly firstUp: FirstWorker
}

/** The end of a pool: all jobs first, then all workers; or both at once. */
export class PoolShutdown {
  readonly #parts: ShutdownParts
  #closing: Promise<void> | undefined
  #quiet: (() => void) | undefined

  constructor(parts: ShutdownParts) {
    this.#parts = parts
  }

  /** `timeout`: ms until what is not done is ended. */
  close(timeout: number | undefined): Promise<void> {
    const { state } = this.#parts
    if (timeout === 0) return this.terminate()
    if (timeout !== undefined && state.phase !== 'closed') state.hub.callLater(timeout, () => void this.terminate())
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { state, fleet, keeper, room } = this.#parts
    state.phase = 'closing'
    state.hub.hold()
    room.close()
    await this.#untilQuiet(() => state.pending === 0 || state.phase === 'terminating')
    if (state.phase === 'closing') fleet.dismiss()
    await this.#untilQuiet(() => state.workers.size === 0)
    // A recall that was answered during the end has brought these back.
    this.#closeLeftovers()
    state.phase = 'closed'
    keeper.stop()
    state.hub.close()
  }

  terminate(): Promise<void> {
    const { state, life, fleet, firstUp } = this.#parts
    if (state.phase === 'closed') return this.#closing ?? Promise.resolve()
    const closing = this.#closing
    this.#closing ??= this.#close()
    state.phase = 'terminating'
    firstUp.reject(new PoolClosedError('The pool was terminated before a worker was up.'))
    this.#closeLeftovers()
    for (const worker of state.workers.values()) {
      for (const job of [...worker.isolatedRetries.splice(0), ...worker.pinned.splice(0)]) life.closeUnbegun(job)
    }
    fleet.killAll()
    this.check()
    return closing ?? this.#closing
  }

  /** Something has ended: does the pool go on to its own end? */
  check(): void {
    this.#quiet?.()
  }

  /** All that waits, in the outbox and behind workers that are gone; it is in neither afterwards. */
  takeWaiting(): JobRecord[] {
    const { state, fleet } = this.#parts
    return [...state.outbox.drain(), ...fleet.takeOrphanedJobs()]
  }

  #closeLeftovers(): void {
    for (const job of this.takeWaiting()) this.#parts.life.closeUnbegun(job)
  }

  #untilQuiet(done: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!done()) return
        this.#quiet = undefined
        resolve()
      }
      this.#quiet = look
      look()
    })
  }
}
