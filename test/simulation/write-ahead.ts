import type { JobRecord } from '../../src/pool/jobs/job.js'
import { TaskMeters } from '../../src/pool/queue/task-meters.js'
import type { RunConfig } from './config.js'
import type { History } from './history.js'

/** The limits that the guide states: longer runs are not averaged, and so much work may wait in a worker, ms. */
const LONG_MS = 5
const TINY_MS = 0.25
const TINY_AHEAD_MS = 5
const AHEAD_MS = 1.5
const MAX_AHEAD = 128
const FAST_AHEAD = 256

/**
 * Checks which jobs the pool writes to a worker without a free slot. It knows the shortest run of each task that the pool has
 * measured: the mean is no less, so no more jobs may wait than that run allows.
 */
export class WriteAheadRule {
  readonly #config: RunConfig
  readonly #history: History
  readonly #shortest = new Map<string, number>()

  constructor(config: RunConfig, history: History) {
    this.#config = config
    this.#history = history
  }

  /** Observes what the pool measures. Returns the function that ends it. */
  observe(): () => void {
    const { record } = TaskMeters.prototype
    const shortest = this.#shortest
    TaskMeters.prototype.record = function (name, ms) {
      shortest.set(name, Math.min(shortest.get(name) ?? LONG_MS, ms))
      record.call(this, name, ms)
    }
    return () => {
      TaskMeters.prototype.record = record
    }
  }

  /** This job was taken from the job queue for its worker. */
  check(job: JobRecord): void {
    const { concurrency } = this.#config
    const waiting: JobRecord[] = []
    const running: JobRecord[] = []
    for (const { record } of this.#history.jobs.values()) {
      if (record === undefined || record === job || record.holder !== job.holder) continue
      if (record.state === 'accepted') running.push(record)
      else if (record.state === 'writing' || record.state === 'written') waiting.push(record)
    }
    if (waiting.length + running.length < concurrency) return
    const allowed = this.#allowed(job)
    const behind = running.find((record) => this.#allowed(record) === 0)
    this.#history.check(
      waiting.length + 1 <= allowed && behind === undefined,
      () =>
        `dispatch: job ${job.number} ('${job.task}') was written ahead to worker ${job.holder}: ${waiting.length} jobs wait there, ${allowed} may${behind === undefined ? '' : `, behind job ${behind.number} ('${behind.task}'), which is long`}`,
    )
  }

  /** How many jobs of its task may wait in one worker. */
  #allowed({ task }: JobRecord): number {
    const { dispatch, watchdog, concurrency } = this.#config
    if (dispatch === 'fast') return concurrency + FAST_AHEAD
    if (typeof dispatch === 'number') return Math.max(dispatch, concurrency)
    const shortest = this.#shortest.get(task)
    if (dispatch === 'fair' || !watchdog || shortest === undefined) return 0
    return Math.min(MAX_AHEAD, Math.floor((shortest < TINY_MS ? TINY_AHEAD_MS : AHEAD_MS) / Math.max(shortest, 0.001)))
  }
}
