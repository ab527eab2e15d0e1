import type { PoolState } from './pool-state.js'

/** Whoever waits for a pool's first worker; he keeps the host alive meanwhile. */
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

  resolve(): void {
    this.#waiting?.resolve()
  }

  /** None will come. */
  reject(error: Error): void {
    this.#waiting?.reject(error)
  }
}
