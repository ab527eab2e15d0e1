import type { PoolWorker } from '../worker/worker.js'
import type { Retirement } from './retirement.js'

interface Round {
  readonly waiting: PoolWorker[]
  /** Being replaced: it works on until its successor is up. */
  current: PoolWorker | undefined
  /** Workers that have come up since. */
  ups: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * A rolling restart: one worker at a time, its successor first. While a successor starts the fleet wants one more than its
 * target; when it is up the old one retires, and when that is gone the next follows.
 */
export class RollingRestart {
  readonly #retirement: Retirement
  #rounds: Round[] = []

  constructor(retirement: Retirement) {
    this.#retirement = retirement
  }

  /**
   * Called each round: rounds that are through end once `complete`, when every worker wanted is up; or when as many have come up as are wanted,
   * for where they are recycled faster than they start, there is no moment at which all of them are.
   */
  settle(complete: boolean, wanted: number): void {
    for (let round = this.#rounds[0]; round !== undefined && round.current === undefined && round.waiting.length === 0; round = this.#rounds[0]) {
      if (!complete && round.ups < wanted) return
      this.#rounds.shift()
      round.resolve()
      this.#next()
    }
  }

  begin(workers: PoolWorker[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#rounds.push({ waiting: [...workers], current: undefined, ups: 0, resolve, reject })
      this.#next()
    })
  }

  /** There are enough others, because fewer are wanted now: the one being replaced needs no successor. */
  release(serving: readonly PoolWorker[], target: number): void {
    const current = this.#rounds[0]?.current
    if (current?.isUp && serving.filter((worker) => worker !== current && worker.isUp).length >= target) this.#retirement.retire(current, 'restart')
  }

  /** How many more workers than its target the fleet wants. */
  extra(serving: readonly PoolWorker[]): number {
    const current = this.#rounds[0]?.current
    return current !== undefined && serving.includes(current) ? 1 : 0
  }

  /** The worker whose successor has been started already: two are there for one place. */
  doubled(serving: readonly PoolWorker[], target: number): PoolWorker | undefined {
    const current = this.#rounds[0]?.current
    return current !== undefined && serving.length > target && serving.includes(current) ? current : undefined
  }

  /** A worker has come up: it takes over from the one being replaced. */
  up(worker: PoolWorker): void {
    if (worker.spare) return
    for (const round of this.#rounds) round.ups++
    const current = this.#rounds[0]?.current
    if (!current?.isUp || worker === current) return
    worker.replace(current)
    this.#retirement.retire(current, 'restart')
  }

  gone(worker: PoolWorker): void {
    const round = this.#rounds[0]
    if (round?.current !== worker) return
    round.current = undefined
    this.#next()
  }

  fail(error: Error): void {
    for (const round of this.#rounds.splice(0)) round.reject(error)
  }

  #next(): void {
    const round = this.#rounds[0]
    if (round === undefined || round.current !== undefined) return
    for (let worker = round.waiting.shift(); worker !== undefined; worker = round.waiting.shift()) {
      if (!worker.isUp) continue
      round.current = worker
      return
    }
  }
}
