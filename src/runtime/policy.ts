import type { ActiveJob } from './active-job.js'
import type { Backoff, DeadReason, HistoryEntry, JobHeaders, Settlement } from './delivery.js'
import { serializeError, withHistory } from './failure.js'
import { retryDelay } from './retry-delay.js'

/** What decides how often a job is tried. */
export interface PolicyOptions {
  readonly maxLosses: number
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly taskDefaults: Readonly<Record<string, { maxAttempts?: number; backoff?: Backoff }>>
  /** Times that a message may come back without having been tried. */
  readonly maxRequeues: number
  readonly unknownTask: 'retry' | 'dead-letter'
}

/** What `Policy` looks at: a held job, or the like of one. */
export type Tried = Pick<ActiveJob, 'counts' | 'headers' | 'name' | 'lines' | 'lossesSoFar'>

/** The wait before a job that went back to the queue untried is taken again, first and longest, ms. */
const REQUEUE_BACKOFF: Backoff = { kind: 'exponential', delay: 100, maxDelay: 30_000 }

/** The rules of retry: what becomes of a message whose job did not succeed. */
export class Policy {
  readonly #options: PolicyOptions

  constructor(options: PolicyOptions) {
    this.#options = options
  }

  /** How often a job may run again after a loss: the explicit figure of message or task, else `maxLosses` - 1. */
  #mayRunAgain(headers: JobHeaders, ofTask: number | undefined): number {
    return headers.retryLost ?? ofTask ?? this.#options.maxLosses - 1
  }

  /** `retryLost` for the pool: what earlier deliveries have left of it. */
  retryLost({ headers, counts }: Pick<Tried, 'headers' | 'counts'>, ofTask: number | undefined): number {
    return Math.max(0, this.#mayRunAgain(headers, ofTask) - counts.losses)
  }

  /** It began and failed: another attempt after a wait, or the dead letters. */
  failed(job: Tried, error: unknown): Settlement {
    return this.#again(job, 'failed', error)
  }

  /** Nobody here knows its task. */
  unknownTask(job: Tried, error: unknown): Settlement {
    return this.#options.unknownTask === 'dead-letter' ? this.dead(job, 'unknown_task', error) : this.#again(job, 'unknown_task', error)
  }

  /** It began, and died with its worker or node, for the `losses`th time altogether. */
  lost(job: Tried, ofTask: number | undefined, error: unknown): Settlement {
    if (job.lossesSoFar > this.#mayRunAgain(job.headers, ofTask)) return this.dead(job, 'lost', error)
    return { kind: 'republish', delay: 0, counts: { ...job.counts, losses: job.lossesSoFar }, history: withHistory(job.headers.history, ...job.lines) }
  }

  /** It goes back to the queue untried, counted. */
  untried(job: Tried, error: unknown, delay?: number): Settlement {
    const requeues = job.counts.requeues + 1
    if (requeues > this.#options.maxRequeues) return this.dead(job, 'redelivered', error)
    return {
      kind: 'republish',
      delay: delay ?? retryDelay(REQUEUE_BACKOFF, requeues),
      counts: { ...job.counts, losses: job.lossesSoFar, requeues },
      history: withHistory(job.headers.history, ...job.lines),
    }
  }

  dead(job: Tried, reason: DeadReason, error: unknown): Settlement {
    return {
      kind: 'dead-letter',
      reason,
      error: serializeError(error),
      counts: { ...job.counts, losses: job.lossesSoFar },
      history: withHistory(job.headers.history, ...job.lines),
    }
  }

  #again(job: Tried, reason: 'failed' | 'unknown_task', error: unknown): Settlement {
    const { headers, counts, name } = job
    const ofTask = Object.hasOwn(this.#options.taskDefaults, name) ? this.#options.taskDefaults[name] : undefined
    if (counts.attempt >= (headers.maxAttempts ?? ofTask?.maxAttempts ?? this.#options.maxAttempts)) return this.dead(job, reason, error)
    return {
      kind: 'republish',
      delay: retryDelay(headers.backoff ?? ofTask?.backoff ?? this.#options.backoff, counts.attempt),
      counts: { ...counts, attempt: counts.attempt + 1, losses: job.lossesSoFar },
      history: withHistory(headers.history, ...job.lines),
    }
  }
}

/** How a run that failed is written down. */
export const failureOutcome = (
  error: unknown,
  softTimedOut: boolean,
): Extract<HistoryEntry['outcome'], 'failed' | 'hard_timeout' | 'soft_timeout' | 'memory_limit'> => {
  const code = (error as { code?: unknown } | null | undefined)?.code
  if (code === 'ERR_PREFORK_TIME_LIMIT') return 'hard_timeout'
  if (code === 'ERR_PREFORK_MEMORY_LIMIT') return 'memory_limit'
  return softTimedOut ? 'soft_timeout' : 'failed'
}
