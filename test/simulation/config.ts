import type { Dispatch, PoolOptions } from '../../src/pool/types.js'

/** What one run is made from; the rest follows from `seed`. */
export interface RunConfig {
  readonly seed: number
  /** Workers, or the most of them where it scales. */
  readonly workers: number
  /** Fewest workers; undefined: as many as `workers`. */
  readonly min: number | undefined
  readonly concurrency: number
  readonly dispatch: Dispatch
  readonly maxQueue: number | undefined
  readonly maxPutBacks: number
  readonly spare: number
  readonly maxJobsPerWorker: number | undefined
  readonly watchdog: boolean
  /** Bytes that a pipe of the kernel holds. */
  readonly capacity: number
  /** Share of reads that are cut at some byte. */
  readonly cuts: number
  /** Longest time until bytes are seen, ms. */
  readonly latency: number
  /** What a look at the clock costs the host, ms. */
  readonly lookCost: number
}

export const MEMORY_LIMIT = 100e6

/** The options of the pool under test. */
export const optionsOf = (config: RunConfig): PoolOptions => ({
  tasks: 'file:///tasks.js',
  workers: config.min === undefined ? config.workers : { min: config.min, max: config.workers },
  concurrency: config.concurrency,
  dispatch: config.dispatch,
  maxQueue: config.maxQueue,
  maxPutBacks: config.maxPutBacks,
  spare: config.spare,
  maxJobsPerWorker: config.maxJobsPerWorker,
  maxMemoryPerWorker: MEMORY_LIMIT,
  watchdog: config.watchdog,
  heartbeatInterval: 2_000,
  keepAlive: 3_000,
  env: {},
  execArgv: [],
})
