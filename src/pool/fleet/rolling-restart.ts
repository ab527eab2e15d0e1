import type { PoolWorker } from '../worker/worker.js'
import type { Retirement } from './retirement.js'

interface Restart {
  readonly waiting: PoolWorker[]
  /** The worker being replaced: it takes jobs until its successor is up. */
  current: PoolWorker | undefined
  /** Workers that have come up since the restart began. */
  ups: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * A rolling restart: one worker at a time, make-before-break. While a successor starts, the fleet wants one worker more than otherwise.
 * When the successor is up, the old worker is retired. When the old worker is gone, the next one follows.
 */
export class RollingRestart {
  readonly #retirement: Retirement
  #restarts: Restart[] = []

  constructor(retirement: Retirement) {
    this.#retirement = retirement
  }

  /**
   * Called at each balance. Ends the restarts that have replaced all workers: all wanted workers are up (`complete`), or as many
   * workers as are wanted have come up. The second case is for workers that are recycled faster than they start: they are never all up at once.
   */
  settle(complete: boolean, wanted: number): void {
    for (let restart = this.#restarts[0]; restart !== undefined && restart.current === undefined && restart.waiting.length === 0; restart = this.#restarts[0]) {
      if (!complete && restart.ups < wanted) return
      this.#restarts.shift()
      restart.resolve()
      this.#next()
    }
  }

  begin(workers: PoolWorker[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#restarts.push({ waiting: [...workers], current: undefined, ups: 0, resolve, reject })
      this.#next()
    })
  }

  /** Retires the worker being replaced if enough others are up. That happens when fewer workers are wanted than before: no successor is needed. */
  release(serving: readonly PoolWorker[], target: number): void {
    const current = this.#restarts[0]?.current
    if (current?.isUp && serving.filter((worker) => worker !== current && worker.isUp).length >= target) this.#retirement.retire(current, 'restart')
  }

  /** Number of workers that the fleet wants beyond `target`, for the restart. */
  extra(serving: readonly PoolWorker[]): number {
    const current = this.#restarts[0]?.current
    return current !== undefined && serving.includes(current) ? 1 : 0
  }

  /** The worker being replaced, if its successor has been started already. Both count as one place. */
  doubled(serving: readonly PoolWorker[], target: number): PoolWorker | undefined {
    const current = this.#restarts[0]?.current
    return current !== undefined && serving.length > target && serving.includes(current) ? current : undefined
  }

  /** A worker has come up. It takes over from the worker being replaced. */
  up(worker: PoolWorker): void {
    if (worker.spare) return
    for (const restart of this.#restarts) restart.ups++
    const current = this.#restarts[0]?.current
    if (!current?.isUp || worker === current) return
    worker.replace(current)
    this.#retirement.retire(current, 'restart')
  }

  gone(worker: PoolWorker): void {
    const restart = this.#restarts[0]
    if (restart?.current !== worker) return
    restart.current = undefined
    this.#next()
  }

  fail(error: Error): void {
    for (const restart of this.#restarts.splice(0)) restart.reject(error)
  }

  #next(): void {
    const restart = this.#restarts[0]
    if (restart === undefined || restart.current !== undefined) return
    for (let worker = restart.waiting.shift(); worker !== undefined; worker = restart.waiting.shift()) {
      if (!worker.isUp) continue
      restart.current = worker
      return
    }
  }
}
