/** A run that takes longer is long, ms. A job that waits in a worker for longer is recalled. */
export const LONG_MS = 5
/** Weight of the newest run. */
const ALPHA = 1 / 16
/** A task is short while fewer than this share of its runs are long. */
const MAX_LONG_SHARE = 0.25
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

  /** How many jobs of this task may wait in one worker's pipe: about 5 ms of work, none if it is long. */
  ahead(name: string): number {
    const meter = this.#meters.get(name)
    if (meter === undefined || meter.longShare >= MAX_LONG_SHARE) return 0
    return Math.min(MAX_AHEAD, Math.floor(LONG_MS / Math.max(meter.mean, 0.001)))
  }
}
