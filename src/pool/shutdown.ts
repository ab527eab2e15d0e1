import { PoolClosedError } from '../wire/errors.js'
import type { PoolParts } from './worker/worker-events.js'

/** `close()` ends all jobs first, then all workers. `terminate()` ends both at once. */
export class PoolShutdown {
  readonly #parts: PoolParts
  #closing: Promise<void> | undefined
  #recheck: (() => void) | undefined

  constructor(parts: PoolParts) {
    this.#parts = parts
  }

  /** `timeout`: ms until the remaining jobs are ended. */
  close(timeout: number | undefined): Promise<void> {
    const { state } = this.#parts
    if (timeout === 0) return this.terminate()
    if (timeout !== undefined && state.phase !== 'closed') state.hub.callLater(timeout, () => void this.terminate())
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { state, fleet, health, capacity } = this.#parts
    state.phase = 'closing'
    state.hub.hold()
    capacity.close()
    await this.#until(() => state.unsettled === 0 || state.phase === 'terminating')
    if (state.phase === 'closing') fleet.retireAll()
    await this.#until(() => state.workers.size === 0)
    await fleet.closeLauncher()
    // These jobs came back by a recall that was answered meanwhile.
    this.#closeWaiting()
    state.phase = 'closed'
    health.stop()
    state.hub.close()
  }

  terminate(): Promise<void> {
    const { state, jobs, fleet, firstWorker } = this.#parts
    if (state.phase === 'closed') return this.#closing ?? Promise.resolve()
    const closing = this.#closing
    this.#closing ??= this.#close()
    state.phase = 'terminating'
    firstWorker.reject(new PoolClosedError('The pool was terminated before a worker was up.'))
    this.#closeWaiting()
    for (const { reserved } of state.workers.values()) {
      for (const job of [...reserved.takeRetries(), ...reserved.takeShares()]) jobs.closeUnbegun(job)
    }
    fleet.killAll()
    this.check()
    return closing ?? this.#closing
  }

  /** Called in each tick: does the shutdown go on? */
  check(): void {
    this.#recheck?.()
  }

  #closeWaiting(): void {
    const { state, jobs } = this.#parts
    for (const job of state.takeWaiting()) jobs.closeUnbegun(job)
  }

  /** Resolves when `done()` holds; `check` looks again. */
  #until(done: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#recheck = () => {
        if (!done()) return
        this.#recheck = undefined
        resolve()
      }
      this.#recheck()
    })
  }
}
