import { exponentialDelay, jittered } from '../util/backoff.js'
import { MAX_TIMER } from '../util/limits.js'
import type { ActiveJob } from './active-job.js'
import type { Backoff, DeadReason, JobHeaders, Settlement } from './delivery.js'
import { serializeError, withHistory } from './message/serialized-error.js'

export interface PolicyOptions {
  readonly maxLosses: number
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly taskDefaults: Readonly<Record<string, { maxAttempts?: number; backoff?: Backoff }>>
  /** How often a message may be published again without a run. */
  readonly maxRequeues: number
  readonly unknownTask: 'retry' | 'dead-letter'
}

/** The part of a job that the policy reads. */
export type TriedJob = Pick<ActiveJob, 'counts' | 'headers' | 'name' | 'newHistory' | 'totalLosses'>

/** The delay before a job that was published again without a run is delivered, ms. */
const REQUEUE_BACKOFF: Backoff = { kind: 'exponential', delay: 100, maxDelay: 30_000 }

/** The rules of retry: the settlement of a job that did not succeed. It knows neither pool nor broker. */
export class RetryPolicy {
  readonly #options: PolicyOptions

  constructor(options: PolicyOptions) {
    this.#options = options
  }

  /** How often a job may run again after its worker died: `retryLost` of the message or task, else `maxLosses` - 1. */
  #lossesAllowed(headers: JobHeaders, ofTask: number | undefined): number {
    return headers.retryLost ?? ofTask ?? this.#options.maxLosses - 1
  }

  /** `retryLost` for the pool: what earlier deliveries have not used up. */
  retryLost({ headers, counts }: Pick<TriedJob, 'headers' | 'counts'>, ofTask: number | undefined): number {
    return Math.max(0, this.#lossesAllowed(headers, ofTask) - counts.losses)
  }

  /** The job began and failed: another attempt after a delay, or a dead letter. */
  failed(job: TriedJob, error: unknown): Settlement {
    return this.#retry(job, 'failed', error)
  }

  /** This node does not know the task. */
  unknownTask(job: TriedJob, error: unknown): Settlement {
    return this.#options.unknownTask === 'dead-letter' ? this.dead(job, 'unknown_task', error) : this.#retry(job, 'unknown_task', error)
  }

  /** The job began, and its worker or node died. */
  lost(job: TriedJob, ofTask: number | undefined, error: unknown): Settlement {
    if (job.totalLosses > this.#lossesAllowed(job.headers, ofTask)) return this.dead(job, 'lost', error)
    return { kind: 'republish', delay: 0, counts: { ...job.counts, losses: job.totalLosses }, history: withHistory(job.headers.history, ...job.newHistory) }
  }

  /** The job goes back to the queue without a run, and `requeues` counts it. */
  untried(job: TriedJob, error: unknown, delay?: number): Settlement {
    const requeues = job.counts.requeues + 1
    if (requeues > this.#options.maxRequeues) return this.dead(job, 'redelivered', error)
    return {
      kind: 'republish',
      delay: delay ?? retryDelay(REQUEUE_BACKOFF, requeues),
      counts: { ...job.counts, losses: job.totalLosses, requeues },
      history: withHistory(job.headers.history, ...job.newHistory),
    }
  }

  dead(job: TriedJob, reason: DeadReason, error: unknown): Settlement {
    return {
      kind: 'dead-letter',
      reason,
      error: serializeError(error),
      counts: { ...job.counts, losses: job.totalLosses },
      history: withHistory(job.headers.history, ...job.newHistory),
    }
  }

  #retry(job: TriedJob, reason: 'failed' | 'unknown_task', error: unknown): Settlement {
    const { headers, counts, name } = job
    const ofTask = Object.hasOwn(this.#options.taskDefaults, name) ? this.#options.taskDefaults[name] : undefined
    if (counts.attempt >= (headers.maxAttempts ?? ofTask?.maxAttempts ?? this.#options.maxAttempts)) return this.dead(job, reason, error)
    return {
      kind: 'republish',
      delay: retryDelay(headers.backoff ?? ofTask?.backoff ?? this.#options.backoff, counts.attempt),
      counts: { ...counts, attempt: counts.attempt + 1, losses: job.totalLosses },
      history: withHistory(headers.history, ...job.newHistory),
    }
  }
}

/** The outcome of a failed run as the history names it. */
export const failureOutcome = (error: unknown, softTimedOut: boolean): 'failed' | 'hard_timeout' | 'soft_timeout' | 'memory_limit' => {
  const code = (error as { code?: unknown } | null | undefined)?.code
  if (code === 'ERR_PREFORK_TIME_LIMIT') return 'hard_timeout'
  if (code === 'ERR_PREFORK_MEMORY_LIMIT') return 'memory_limit'
  return softTimedOut ? 'soft_timeout' : 'failed'
}

/** The delay after attempt `attempt` (from 1), ms, at most `MAX_TIMER`. `random` gives numbers from 0 to 1. */
export const retryDelay = (backoff: Backoff, attempt: number, random: () => number = Math.random): number => {
  const { kind, delay, maxDelay = MAX_TIMER, jitter = 0 } = backoff
  const longest = Math.min(maxDelay, MAX_TIMER)
  return jittered(kind === 'fixed' ? Math.min(delay, longest) : exponentialDelay(attempt, delay, longest), jitter, random)
}
