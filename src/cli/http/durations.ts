import type { FarmEvent } from '../../runtime/report/report.js'

/** A line of Prometheus' text format. */
export type Sample = readonly [labels: Readonly<Record<string, string | number>>, value: number, suffix?: string]

/** Seconds. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800] as const
/** A message may name any task: further names share a series, so that messages cannot exhaust the memory. */
const MAX_TASKS = 200

const OUTCOMES: Partial<Record<FarmEvent['type'], string>> = {
  'task.succeeded': 'success',
  'task.failed': 'failure',
  'task.retried': 'retried',
  'task.revoked': 'revoked',
  'task.lost': 'lost',
  'task.soft_timeout': 'soft_timeout',
  'task.hard_timeout': 'hard_timeout',
}

interface Series {
  readonly task: string
  readonly outcome: string
  readonly buckets: number[]
  sum: number
  count: number
}

/** How long jobs ran, by task and outcome. */
export class Durations {
  readonly #series = new Map<string, Series>()
  readonly #tasks = new Set<string>()
  /** The job of the last event, if it was a timeout: the event after it, a failure or a retry, is about the same run. */
  #timedOut: string | undefined

  take(event: FarmEvent): void {
    const timedOut = this.#timedOut
    this.#timedOut = event.type === 'task.hard_timeout' || event.type === 'task.soft_timeout' ? event.id : undefined
    const outcome = OUTCOMES[event.type]
    if (outcome === undefined || !('duration' in event) || !('name' in event)) return
    if (!Number.isFinite(event.duration)) return
    // Without a worker no run ended: the job expired, was unreadable, named no task, or was lost before.
    if (event.type !== 'task.succeeded' && event.worker === undefined) return
    if ((event.type === 'task.failed' || event.type === 'task.retried') && event.id === timedOut) return
    // Each of its runs had an event of its own.
    if (event.type === 'task.failed' && event.dead === 'lost') return
    const series = this.#find(event.name, outcome)
    const seconds = event.duration / 1_000
    const at = BOUNDS.findIndex((bound) => seconds <= bound)
    series.buckets[at === -1 ? BOUNDS.length : at]!++
    series.sum += seconds
    series.count++
  }

  #find(name: string, outcome: string): Series {
    if (this.#tasks.size < MAX_TASKS) this.#tasks.add(name)
    const task = this.#tasks.has(name) ? name : '(other)'
    const key = `${outcome} ${task}`
    let series = this.#series.get(key)
    if (series === undefined) {
      series = { task, outcome, buckets: new Array(BOUNDS.length + 1).fill(0), sum: 0, count: 0 }
      this.#series.set(key, series)
    }
    return series
  }

  *samples(): Generator<Sample> {
    for (const { task, outcome, buckets, sum, count } of this.#series.values()) {
      let below = 0
      for (const [i, bound] of [...BOUNDS, Number.POSITIVE_INFINITY].entries()) {
        below += buckets[i]!
        yield [{ task, outcome, le: bound === Number.POSITIVE_INFINITY ? '+Inf' : bound }, below, '_bucket']
      }
      yield [{ task, outcome }, sum, '_sum']
      yield [{ task, outcome }, count, '_count']
    }
  }
}
