import { AbortRegistry } from '../../util/abort-registry.js'
import { closedError } from '../errors.js'
import type { MapRoom } from '../jobs/map.js'
import type { PoolState } from '../pool-state.js'

/** Those who wait until the queue has room (`maxQueue`). */
export class QueueCapacity {
  readonly #pool: PoolState
  readonly #waiters: { resolve: () => void; reject: (error: Error) => void }[] = []
  /** Maps that are under way. */
  readonly #maps = new Set<() => void>()
  readonly #signals = new AbortRegistry<(reason: unknown) => void>((aborted, reason) => aborted(reason))

  constructor(pool: PoolState) {
    this.#pool = pool
  }

  /** Somebody waits. */
  get hasWaiters(): boolean {
    return this.#waiters.length > 0
  }

  ready(): Promise<void> {
    const { phase, queued, settings } = this.#pool
    if (phase !== 'open') return Promise.reject(closedError('pool.ready()'))
    if (queued < settings.maxQueue) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }))
  }

  /** As many as there is room for. */
  release(): void {
    const { queued, settings, hub } = this.#pool
    for (let room = settings.maxQueue - queued; room > 0 && this.hasWaiters; room--) this.#waiters.shift()!.resolve()
    // One that was let in may submit nothing: the others must not wait for an unrelated event.
    if (this.hasWaiters && queued < settings.maxQueue) hub.wake()
  }

  close(): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(closedError('pool.ready()'))
    for (const closed of this.#maps) closed()
  }

  /** What a map needs of it; a source that has fallen silent must not outlast its signal, nor the pool. */
  forMap(signal: AbortSignal | undefined): MapRoom {
    const pool = this.#pool
    return {
      get full() {
        return pool.phase === 'open' && pool.queued >= pool.settings.maxQueue
      },
      ready: () => this.ready(),
      nextTurn: () => new Promise((resolve) => pool.hub.clock.afterPoll(resolve)),
      watch: (aborted, closed) => {
        this.#maps.add(closed)
        const unwatch = signal === undefined ? undefined : this.#signals.watch(signal, aborted)
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
