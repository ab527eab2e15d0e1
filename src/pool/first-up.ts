import type { PoolState } from './state.js'

/** Whoever waits for a pool's first worker; he keeps the host alive meanwhile. */
export class FirstUp {
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

  came(): void {
    this.#waiting?.resolve()
  }

  /** None will come. */
  refuse(error: Error): void {
    this.#waiting?.reject(error)
  }
}
