import { AbortRegistry } from '../../util/abort-registry.js'
import { closedError } from '../errors.js'
import type { MapCapacity } from '../jobs/map.js'
import type { PoolState } from '../pool-state.js'

/** The calls of `pool.ready()` and of maps that wait until the queue has room (`maxQueue`). */
export class QueueCapacity {
  readonly #pool: PoolState
  readonly #waiters: { resolve: () => void; reject: (error: Error) => void }[] = []
  /** For each map that is under way: ends it when the pool closes. */
  readonly #maps = new Set<() => void>()
  readonly #abortSignals = new AbortRegistry<(reason: unknown) => void>((aborted, reason) => aborted(reason))

  constructor(pool: PoolState) {
    this.#pool = pool
  }

  get hasWaiters(): boolean {
    return this.#waiters.length > 0
  }

  ready(): Promise<void> {
    const { phase, queued, settings } = this.#pool
    if (phase !== 'open') return Promise.reject(closedError('pool.ready()'))
    if (queued < settings.maxQueue) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }))
  }

  /** Resolves as many calls as there is room for. */
  release(): void {
    const { queued, settings, hub } = this.#pool
    for (let room = settings.maxQueue - queued; room > 0 && this.hasWaiters; room--) this.#waiters.shift()!.resolve()
    // A caller that was resolved may submit nothing: the others must not wait for an unrelated event.
    if (this.hasWaiters && queued < settings.maxQueue) hub.wake()
  }

  close(): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(closedError('pool.ready()'))
    for (const closed of this.#maps) closed()
  }

  /** As a map sees it. A source that brings nothing more must not outlast the caller's signal, nor the pool. */
  forMap(signal: AbortSignal | undefined): MapCapacity {
    const pool = this.#pool
    return {
      get full() {
        return pool.phase === 'open' && pool.queued >= pool.settings.maxQueue
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
