import { performance } from 'node:perf_hooks'
import { BoundedMap } from './bounded-map.js'

/** The newest runs of a task that count. */
const KEPT = 32
/** Tasks that are remembered. */
const MAX_TASKS = 1_000
/** The share of the kept runs that are not longer than the 95th percentile. */
const P95 = 0.95

/** How long the newest runs of one task took, whatever came of them. Times in ms. */
export class TaskRuns {
  readonly #times = new Float64Array(KEPT)
  #count = 0
  #sum = 0
  /** When it began last. */
  lastBegan = 0
  /** Runs that have begun and not ended. */
  running = 0

  /** True: it was measured for the first time. */
  ended(ms: number): boolean {
    const at = this.#count++ % KEPT
    this.#sum += ms - this.#times[at]!
    this.#times[at] = ms
    return this.#count === 1
  }

  /** Undefined: never measured. */
  get mean(): number | undefined {
    // A sum of differences may become a little less than nothing.
    return this.#count === 0 ? undefined : Math.max(0, this.#sum) / Math.min(this.#count, KEPT)
  }

  /** The 95th percentile. Undefined: never measured. */
  get p95(): number | undefined {
    if (this.#count === 0) return undefined
    const kept = Math.min(this.#count, KEPT)
    return this.#times.slice(0, kept).sort()[Math.ceil(P95 * kept) - 1]
  }
}

/** The part of a job by which its runs are measured. */
export interface MeasuredJob {
  /** Of its task. */
  readonly name: string
  /** While a run is measured. */
  runs: TaskRuns | undefined
  /** When that run began. */
  runsSince: number
}

/** How long the tasks of a node run, by their own names. A node scales by it, and decides by it how many jobs it holds ahead. Times in ms on the clock of `performance.now()`. */
export class RunTimes {
  /** The newest runs, of whatever task. */
  readonly all = new TaskRuns()
  readonly #tasks = new BoundedMap<TaskRuns>(MAX_TASKS)
  readonly #onMeasured: () => void
  #latest: TaskRuns | undefined
  #latestName: string | undefined
  /** When a job began last. Undefined: none has begun. */
  lastBegan: number | undefined

  /** `onMeasured`: called when a task has been measured for the first time. */
  constructor(onMeasured: () => void = () => {}) {
    this.#onMeasured = onMeasured
  }

  /** A run of the job begins. */
  began(job: MeasuredJob): void {
    const now = performance.now()
    const runs = this.#of(job.name)
    runs.running++
    runs.lastBegan = now
    this.lastBegan = now
    job.runs = runs
    job.runsSince = now
  }

  /** The run of the job has ended, in whatever way. Does nothing if none has begun. */
  ended(job: MeasuredJob): void {
    const { runs } = job
    if (runs === undefined) return
    job.runs = undefined
    runs.running--
    const ms = performance.now() - job.runsSince
    this.all.ended(ms)
    if (runs.ended(ms)) this.#onMeasured()
  }

  #of(name: string): TaskRuns {
    if (name === this.#latestName) return this.#latest!
    const runs = this.#tasks.get(name) ?? new TaskRuns()
    // Also one that is known: the newest are kept.
    this.#tasks.set(name, runs)
    this.#latestName = name
    this.#latest = runs
    return runs
  }

  /** Mean run time of the task. Undefined: never measured. */
  mean(name: string): number | undefined {
    return this.#tasks.get(name)?.mean
  }

  /** The tasks that run, or began at `since` or later. */
  since(since: number): TaskRuns[] {
    return this.#tasks.values().filter(({ running, lastBegan }) => running > 0 || lastBegan >= since)
  }
}
