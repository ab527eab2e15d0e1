/** A run above this time is long, ms. A job that waits in a worker for longer than this is recalled. */
export const LONG_MS = 5
/** Weight of the newest run. */
const ALPHA = 1 / 16
/** A task is short while fewer than this share of its runs are long. */
const MAX_LONG_SHARE = 0.25
/** A job below this time is tiny, ms: the way to the host and back is a large share of its time. */
const TINY_MS = 0.25
/** Work of tiny jobs that is written ahead to one worker, ms: the host handles many answers in one turn. */
const TINY_AHEAD_MS = 5
/** Work of other short jobs that is written ahead, ms: enough to keep the worker busy while its answer travels. More would delay the host. */
const AHEAD_MS = 1.5
/** The most jobs that are written ahead to one worker. */
const MAX_AHEAD = 128

interface Meter {
  /** Mean of the runs that were not long, ms. */
  mean: number
  /** Share of runs that were long. */
  longShare: number
}

/** How long each task runs: the adaptive dispatcher writes ahead by it. A task that was never measured counts as long. */
export class TaskMeters {
  readonly #meters = new Map<string, Meter>()

  record(name: string, ms: number): void {
    const meter = this.#meters.get(name)
    const long = ms > LONG_MS
    if (meter === undefined) {
      this.#meters.set(name, { mean: Math.min(ms, LONG_MS), longShare: long ? 1 : 0 })
      return
    }
    meter.longShare += ALPHA * ((long ? 1 : 0) - meter.longShare)
    if (!long) meter.mean += ALPHA * (ms - meter.mean)
  }

  /** True: the answer follows the acceptance so closely that both wake the host only once. False for a task that was never measured. */
  isTiny(name: string): boolean {
    const meter = this.#meters.get(name)
    return meter !== undefined && meter.longShare < MAX_LONG_SHARE && meter.mean < TINY_MS
  }

  /** How many jobs of this task may wait in one worker's pipe; 0 for a task whose runs take longer than AHEAD_MS. */
  ahead(name: string): number {
    const meter = this.#meters.get(name)
    if (meter === undefined || meter.longShare >= MAX_LONG_SHARE) return 0
    const { mean } = meter
    return Math.min(MAX_AHEAD, Math.floor((mean < TINY_MS ? TINY_AHEAD_MS : AHEAD_MS) / Math.max(mean, 0.001)))
  }
}
