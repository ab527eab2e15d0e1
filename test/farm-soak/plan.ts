/** The parameters of a soak, and its seeded random numbers. */

export interface SoakPlan {
  readonly jobs: number
  readonly seed: number
  /** The broker itself, without a proxy. */
  readonly url: string
  /** One job of so many is poison: it kills each worker that runs it. */
  readonly poisonEvery: number
  /** ms of the longest job. */
  readonly longest: number
  /** ms between two kills; of them, this share hits a whole node. */
  readonly killEvery: number
  readonly nodeShare: number
  /** ms between two cuts of a connection. */
  readonly cutEvery: number
  /** Kills and cuts at most. */
  readonly maxKills: number
  readonly maxCuts: number
  /** Restarts the broker. Called when half of the jobs are done. */
  restartBroker?(): Promise<void>
}

export const NODES = 2
export const WORKERS = 2
export const PREFETCH_PER_WORKER = 10
export const MAX_LOSSES = 3

export interface Random {
  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number
  chance(share: number): boolean
  pick<T>(list: readonly T[]): T | undefined
}

/** mulberry32. */
export const randomOf = (seed: number): Random => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    int: (low, high) => low + Math.floor(next() * (high - low + 1)),
    chance: (share) => next() < share,
    pick: (list) => list[Math.floor(next() * list.length)],
  }
}
