import { availableParallelism } from 'node:os'
import type { NodeSettings } from './options.js'
import { wantedWorkers } from './scale-rule.js'

/** Workers that commands may bring a node to, for each processor: beyond it is a slip of the finger, unless the node was started for more. */
const PER_PROCESSOR = 16

/** How many workers the node wants, and between which bounds; an operator moves the bounds. */
export class Scale {
  min: number
  max: number
  wanted: number
  readonly #settings: NodeSettings
  readonly #resize: (workers: number) => void
  readonly #ceiling: number

  constructor(settings: NodeSettings, resize: (workers: number) => void) {
    this.#ceiling = Math.max(settings.maxWorkers, PER_PROCESSOR * availableParallelism())
    this.#settings = settings
    this.#resize = resize
    this.min = settings.minWorkers
    this.max = settings.maxWorkers
    this.wanted = settings.minWorkers
  }

  /** A look at the backlog; `depth` undefined skips the round. */
  round(depth: number | undefined, idle: number): void {
    const { prefetchPerWorker, scaleUpBatch, scaleDownBatch } = this.#settings
    this.#want(
      wantedWorkers({ depth, alive: this.wanted, idle }, { min: this.min, max: this.max, prefetchPerWorker, upBatch: scaleUpBatch, downBatch: scaleDownBatch }),
    )
  }

  /** More workers, and never fewer again than there are then: raises the floor, and the ceiling where it is in the way. */
  grow(by: number): void {
    this.bounds(this.wanted + by, Math.max(this.max, this.wanted + by))
  }

  /** Fewer workers, at least one, and never more again than there are then: lowers the ceiling, and the floor where it is in the way. */
  shrink(by: number): void {
    const max = Math.max(1, this.wanted - by)
    this.bounds(Math.min(this.min, max), max)
  }

  /** @throws {RangeError} more than commands may bring it to */
  bounds(min: number, max: number): void {
    if (max > this.#ceiling)
      throw new RangeError(
        `${max} workers are more than commands may bring this node to, ${this.#ceiling}: ${PER_PROCESSOR} for each of its ${availableParallelism()} processors, or its own maxWorkers where that is more. Start it with a maxWorkers (--autoscale min,max) of as many as it is to have.`,
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
