/** What a soak is to do, and what chance decides in it. */

export interface SoakPlan {
  readonly jobs: number
  readonly seed: number
  /** The broker itself, past every proxy. */
  readonly url: string
  /** Of so many jobs one kills every worker that it meets. */
  readonly poisonEvery: number
  /** ms of a job, at the most. */
  readonly longest: number
  /** ms between two kills; of them, this share hits a whole node. */
  readonly killEvery: number
  readonly nodeShare: number
  /** ms between two cuts of a connection. */
  readonly cutEvery: number
  /** No more kills and cuts than these. */
  readonly maxKills: number
  readonly maxCuts: number
  /** Restarts the broker, when half of the jobs are done. */
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

/** mulberry32: small, seeded, good enough. */
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
