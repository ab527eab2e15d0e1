import { availableCpus } from '../../util/available-cpus.js'
import type { NodeSettings } from '../options.js'
import { Demand } from './demand.js'
import { Growth, type Load } from './growth.js'

/** Workers for each processor that a command can set. A higher number counts as a mistake, unless the node was started with more. */
const MAX_PER_PROCESSOR = 16

/** The options by which a node scales. */
export type ScaleSettings = Pick<
  NodeSettings,
  'minWorkers' | 'maxWorkers' | 'concurrency' | 'scaleUpAfter' | 'scaleUpBatch' | 'scaleDownBatch' | 'scaleCheckInterval' | 'keepAlive'
>

/** The host's side of the rule. The simulation passes its own. */
export interface ScaleSystem {
  readonly cpus: number
  /** ms on the clock of each `Load.now`. */
  readonly now: number
  readonly random?: () => number
}

/** Workers of a node at one look. */
export interface Workers {
  /** Those that hold no job. */
  readonly idle: number
  /** As many as the jobs of now need, and as were needed at once since the last look. */
  readonly needed: number
}

/** How many workers the node wants. Follows what waits, and what runs, between two bounds that commands can move. */
export class NodeAutoscaler {
  min: number
  max: number
  wanted: number
  readonly #settings: ScaleSettings
  readonly #growth: Growth
  readonly #demand: Demand
  readonly #resize: (workers: number) => void
  readonly #maxByCommand: number
  /** Workers start that were wanted because of what waited. */
  #grows = false
  /** The next worker is not retired before this time. */
  #retireAt: number

  constructor(settings: ScaleSettings, { cpus, now, random = Math.random }: ScaleSystem, resize: (workers: number) => void) {
    const { concurrency, scaleUpAfter, scaleUpBatch, keepAlive, minWorkers, maxWorkers } = settings
    this.#maxByCommand = Math.max(maxWorkers, MAX_PER_PROCESSOR * availableCpus())
    this.#settings = settings
    this.#growth = new Growth({ concurrency, scaleUpAfter, scaleUpBatch, cpus, random })
    this.#demand = new Demand(keepAlive, now)
    this.#resize = resize
    this.#retireAt = now
    this.min = minWorkers
    this.max = maxWorkers
    this.wanted = minWorkers
  }

  /** Applies the rule to the load of now. */
  check(load: Load, workers: Workers): void {
    const { now, up, starting } = load
    const wanted = this.#growth.wanted(load, this.max)
    // During a rolling restart there is one worker more than wanted.
    const isMore = wanted > Math.max(this.wanted, up + starting)
    if (isMore) this.#want(wanted)
    // A worker is kept for as long from when it is up, however long its start took.
    this.#grows = isMore || (this.#grows && starting > 0)
    this.#demand.note(Math.max(workers.needed, this.#grows ? this.wanted : 0), now)
    this.#shrink(load, workers)
  }

  /** Keeps as many workers as were needed at once in the last `keepAlive`. */
  #shrink({ now, starting, waited }: Load, { idle }: Workers): void {
    const { scaleDownBatch, scaleCheckInterval } = this.#settings
    if (now < this.#retireAt || starting > 0 || waited > 0) return
    const surplus = this.wanted - Math.max(this.min, this.#demand.peak(now))
    const retired = Math.min(scaleDownBatch, idle, surplus)
    if (retired <= 0) return
    this.#retireAt = now + scaleCheckInterval
    this.#want(this.wanted - retired)
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
