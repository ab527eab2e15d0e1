import { availableCpus } from '../util/available-cpus.js'
import type { NodeSettings } from './options.js'

/** The load of a node at a check of its backlog. */
export interface Load {
  /** Messages ready in the node's queues; undefined: the broker could not be asked. */
  readonly depth: number | undefined
  /** Workers that are up or starting. */
  readonly alive: number
  /** The workers among `alive` that hold no job. */
  readonly idle: number
}

export interface ScaleRule {
  readonly min: number
  readonly max: number
  readonly prefetchPerWorker: number
  readonly upBatch: number
  readonly downBatch: number
}

/**
 * How many workers the node should have, from `min` to `max`. A backlog larger than the prefetch of all workers adds `upBatch`
 * workers. A backlog that fits into the prefetch of all but one worker retires up to `downBatch` idle ones. Without a depth nothing changes.
 */
export const wantedWorkers = ({ depth, alive, idle }: Load, { min, max, prefetchPerWorker, upBatch, downBatch }: ScaleRule): number => {
  if (alive < min) return min
  if (alive > max) return max
  if (depth === undefined) return alive
  if (depth > alive * prefetchPerWorker) return Math.min(max, alive + upBatch)
  if (depth <= (alive - 1) * prefetchPerWorker) return Math.max(min, alive - Math.min(downBatch, idle))
  return alive
}

/** Workers for each processor that a command can set. A higher number counts as a mistake, unless the node was started with more. */
const MAX_PER_PROCESSOR = 16

/** How many workers the node wants. Follows the backlog between two bounds, which commands can move. */
export class NodeAutoscaler {
  min: number
  max: number
  wanted: number
  readonly #settings: NodeSettings
  readonly #resize: (workers: number) => void
  readonly #maxByCommand: number

  constructor(settings: NodeSettings, resize: (workers: number) => void) {
    this.#maxByCommand = Math.max(settings.maxWorkers, MAX_PER_PROCESSOR * availableCpus())
    this.#settings = settings
    this.#resize = resize
    this.min = settings.minWorkers
    this.max = settings.maxWorkers
    this.wanted = settings.minWorkers
  }

  /** Applies the rule to the present backlog. */
  check(depth: number | undefined, idle: number): void {
    const { prefetchPerWorker, scaleUpBatch, scaleDownBatch } = this.#settings
    this.#want(
      wantedWorkers({ depth, alive: this.wanted, idle }, { min: this.min, max: this.max, prefetchPerWorker, upBatch: scaleUpBatch, downBatch: scaleDownBatch }),
    )
  }

  /** Adds `by` workers and raises the minimum to the new number, and the maximum where it is lower. */
  grow(by: number): void {
    this.setBounds(this.wanted + by, Math.max(this.max, this.wanted + by))
  }

  /** Removes `by` workers, but keeps one. Lowers the maximum to the new number, and the minimum where it is higher. */
  shrink(by: number): void {
    const max = Math.max(1, this.wanted - by)
    this.setBounds(Math.min(this.min, max), max)
  }

  /** @throws {RangeError} `max` is more than a command can set */
  setBounds(min: number, max: number): void {
    if (max > this.#maxByCommand)
      throw new RangeError(
        `${max} workers are more than commands may bring this node to, ${this.#maxByCommand}: ${MAX_PER_PROCESSOR} for each of its ${availableCpus()} processors, or its own maxWorkers where that is more. Start it with a maxWorkers (--autoscale min,max) of as many as it is to have.`,
      )
    this.min = min
    this.max = max
    this.#want(Math.min(max, Math.max(min, this.wanted)))
  }

  get report(): { min: number; max: number; wanted: number; auto: boolean } {
    return { min: this.min, max: this.max, wanted: this.wanted, auto: this.min < this.max }
  }

  #want(workers: number): void {
    if (workers === this.wanted) return
    this.wanted = workers
    this.#resize(workers)
  }
}
