import { AbortRegistry } from '../../util/abort-registry.js'
import { closedError } from '../errors.js'
import type { MapCapacity } from '../jobs/map.js'
import type { PoolState } from '../pool-state.js'

/** Interval at which acceptance records are read while a caller waits for room, ms. No message announces a recorded acceptance. */
const LOOK_MS = 5

/** The calls of `pool.ready()` and of maps that wait until the queue has room (`maxQueue`). */
export class QueueCapacity {
  readonly #pool: PoolState
  readonly #waiters: { resolve: () => void; reject: (error: Error) => void }[] = []
  /** One function for each running map. It ends the map when the pool closes. */
  readonly #maps = new Set<() => void>()
  readonly #abortSignals = new AbortRegistry<(reason: unknown) => void>((aborted, reason) => aborted(reason))

  constructor(pool: PoolState) {
    this.#pool = pool
  }

  get hasWaiters(): boolean {
    return this.#waiters.length > 0
  }

  ready(): Promise<void> {
    if (this.#pool.phase !== 'open') return Promise.reject(closedError('pool.ready()'))
    if (!this.#pool.isFull()) return Promise.resolve()
    if (!this.hasWaiters) this.#lookAgain()
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }))
  }

  /** Reads the records again: a job that was written before the caller waited may be accepted without a message. */
  #lookAgain(): void {
    const { hub, workers } = this.#pool
    for (const worker of workers.values()) {
      if (!worker.recorded.pending) continue
      hub.callLater(LOOK_MS, () => {
        if (!this.hasWaiters) return
        this.#pool.findAccepted()
        this.#lookAgain()
      })
      return
    }
  }

  /** Resolves as many waiting calls as there is room for. */
  release(): void {
    if (!this.hasWaiters) return
    const { queued, settings, hub } = this.#pool
    for (let room = settings.maxQueue - queued; room > 0 && this.hasWaiters; room--) this.#waiters.shift()!.resolve()
    // A resolved caller may submit nothing. The other callers must not wait for an unrelated event.
    if (this.hasWaiters && queued < settings.maxQueue) hub.wake()
  }

  close(): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(closedError('pool.ready()'))
    for (const closed of this.#maps) closed()
  }

  /** The capacity as a map sees it. A map whose source yields nothing more must not outlast the caller's signal or the pool. */
  forMap(signal: AbortSignal | undefined): MapCapacity {
    const pool = this.#pool
    return {
      get full() {
        return pool.phase === 'open' && pool.isFull()
      },
      ready: () => this.ready(),
      nextTurn: () => new Promise((resolve) => pool.hub.clock.afterPoll(resolve)),
      watch: (aborted, closed) => {
        this.#maps.add(closed)
        const unwatch = signal === undefined ? undefined : this.#abortSignals.watch(signal, aborted)
        if (signal?.aborted) aborted(signal.reason)
        if (pool.phase !== 'open') closed()
        return () => {
          this.#maps.delete(closed)
          unwatch?.()
        }
      },
    }
  }
}
