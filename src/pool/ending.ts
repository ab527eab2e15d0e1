import { PoolClosedError } from '../wire/errors.js'
import type { FirstUp } from './first-up.js'
import type { Fleet } from './fleet.js'
import type { JobRecord } from './job.js'
import type { JobLife } from './job-life.js'
import type { Keeper } from './keeper.js'
import type { QueueRoom } from './queue-room.js'
import type { PoolState } from './state.js'

interface Parts {
  readonly state: PoolState
  readonly life: JobLife
  readonly fleet: Fleet
  readonly keeper: Keeper
  readonly room: QueueRoom
  readonly firstUp: FirstUp
}

/** The end of a pool: all jobs first, then all workers; or both at once. */
export class Ending {
  readonly #parts: Parts
  #closing: Promise<void> | undefined
  #quiet: (() => void) | undefined

  constructor(parts: Parts) {
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
    firstUp.refuse(new PoolClosedError('The pool was terminated before a worker was up.'))
    this.#closeLeftovers()
    for (const worker of state.workers.values()) {
      for (const job of [...worker.suspects.splice(0), ...worker.pinned.splice(0)]) life.closeUnbegun(job)
    }
    fleet.killAll()
    this.look()
    return closing ?? this.#closing
  }

  /** Something has ended: does the pool go on to its own end? */
  look(): void {
    this.#quiet?.()
  }

  /** All that waits, in the outbox and behind workers that are gone; it is in neither afterwards. */
  takeWaiting(): JobRecord[] {
    const { state, fleet } = this.#parts
    return [...state.outbox.drain(), ...fleet.takeLeftovers()]
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
