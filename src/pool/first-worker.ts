import type { PoolState } from './pool-state.js'

/** The wait of `createPool` for the first worker. The wait keeps the host alive. */
export class FirstWorker {
  readonly #pool: PoolState
  #waiting: { resolve: () => void; reject: (error: Error) => void } | undefined

  constructor(pool: PoolState) {
    this.#pool = pool
  }

  wait(): Promise<void> {
    const { hub } = this.#pool
    hub.hold()
    return new Promise<void>((resolve, reject) => {
      this.#waiting = { resolve, reject }
    }).finally(() => {
      this.#waiting = undefined
      if (this.#pool.phase !== 'closed') hub.release()
    })
  }

  /** A worker is up. */
  resolve(): void {
    this.#waiting?.resolve()
  }

  /** No worker will come up. */
  reject(error: Error): void {
    this.#waiting?.reject(error)
  }
}
