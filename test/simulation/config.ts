import type { Dispatch, PoolOptions } from '../../src/pool/types.js'
import type { MemorySettings } from './memory.js'

/** What one run is made from; everything else follows from `seed`. */
export interface RunConfig {
  readonly seed: number
  /** The number of workers; with `min`, the largest. */
  readonly workers: number
  /** The smallest number of workers; undefined: `workers`, and the pool does not scale. */
  readonly min: number | undefined
  readonly concurrency: number
  readonly dispatch: Dispatch
  readonly maxQueue: number | undefined
  readonly maxPutBacks: number
  readonly spare: number
  readonly maxJobsPerWorker: number | undefined
  readonly watchdog: boolean
  /** Capacity of a pipe of the kernel, bytes. */
  readonly capacity: number
  /** Share of reads that return only a part of the available bytes, 0 to 1. */
  readonly cutShare: number
  /** The longest time until the reader of a pipe sees its bytes, ms. */
  readonly latency: number
  /** Workers have an acceptance record. */
  readonly record: boolean
  /** The memory that each worker shares with the host. */
  readonly memory: MemorySettings
  /** What starts the workers: the host, or a launcher process. */
  readonly launcher: 'host' | 'process'
  /** How long the host takes to read its clock, ms. */
  readonly clockReadCost: number
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
