import { exponentialDelay, jittered } from '../util/backoff.js'
import { MAX_TIMER } from '../util/limits.js'
import type { ActiveJob } from './active-job.js'
import type { Backoff, DeadReason, JobHeaders, RepublishReason, Settlement } from './delivery.js'
import { isNonRetryable, retryAfterOf } from './ended-run.js'
import { serializeError, withHistory } from './message/serialized-error.js'

export interface PolicyOptions {
  readonly maxLosses: number
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly taskDefaults: Readonly<Record<string, { maxAttempts?: number; backoff?: Backoff }>>
  /** How often a message may be published again without a run. */
  readonly maxRequeues: number
  readonly unknownTask: 'retry' | 'dead-letter'
  /** ms */
  readonly unknownTaskTimeout: number
  /** Who tries a job again that did not succeed. */
  readonly retries: 'node' | 'broker'
}

/** The part of a job that the policy reads. */
export type TriedJob = Pick<ActiveJob, 'counts' | 'headers' | 'name' | 'newHistory' | 'totalLosses'> & Partial<Pick<ActiveJob, 'target' | 'maxDelay'>>

/** A message that has come back so often runs alone. Until then something else may have ended its nodes, so only further returns count as losses. */
export const UNCOUNTED_RETURNS = 2
/** Fewer such losses never end a job: its connection may have been cut as often. */
const LEAST_NODE_LOSSES = 3

/** Nodes that a job has ended, as far as is known. */
export const nodeLosses = ({ returned }: Pick<ActiveJob, 'returned'>): number => Math.max(0, returned - UNCOUNTED_RETURNS)

/** The delay before a job that was published again without a run is delivered, ms. */
const REQUEUE_BACKOFF: Backoff = { kind: 'exponential', delay: 100, maxDelay: 30_000 }

/** The delay before a job that could not be alone comes again. Its node has taken nothing meanwhile: the others have more and more of the time. */
const ISOLATION_BACKOFF: Backoff = { kind: 'exponential', delay: 30_000, maxDelay: 3_600_000 }

/** The first and the longest delay of a job whose task a node does not know, ms. */
const FIRST_UNKNOWN_DELAY = 1_000
const MAX_UNKNOWN_DELAY = 30_000

/** Why a job is tried again that would be a dead letter if the node decided. It has not begun, for a reason that is not listed. */
const WHY: Partial<Record<DeadReason, RepublishReason>> = { failed: 'failed', lost: 'lost', unknown_task: 'unknown_task' }

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

  /** `retryLost` for the pool: the losses that earlier runs have not used up. */
  retryLost({ headers, totalLosses }: Pick<TriedJob, 'headers' | 'totalLosses'>, ofTask: number | undefined): number {
    return Math.max(0, this.#lossesAllowed(headers, ofTask) - totalLosses)
  }

  /** The reason why a job must not begin: it was lost or returned too often before this delivery. `ofTask`: `retryLost` of the task. */
  exhausted(job: Pick<ActiveJob, 'headers' | 'counts' | 'returned'>, ofTask: number | undefined): 'lost' | 'redelivered' | undefined {
    const { headers, counts } = job
    const ofNodes = nodeLosses(job)
    if (counts.losses + (ofNodes < LEAST_NODE_LOSSES ? 0 : ofNodes) > this.#lossesAllowed(headers, ofTask)) return 'lost'
    return counts.requeues > this.#options.maxRequeues ? 'redelivered' : undefined
  }

  /** The job began and failed: another attempt after a delay, or a dead letter, as its task may say by the error. A generator cannot be run as a job, however often it is tried. */
  failed(job: TriedJob, error: unknown): Settlement {
    if ((error as { code?: unknown } | null | undefined)?.code === 'ERR_PREFORK_STREAM') return this.giveUp(job, 'refused', error)
    if (isNonRetryable(error)) return this.#dead(job, 'failed', error, this.#options.retries === 'broker')
    return this.#retry(job, error)
  }

  /** This node does not know the task: the job waits for one that does, each time as long as it has waited so far. That is no attempt. */
  unknownTask(job: TriedJob, error: unknown): Settlement {
    const { unknownTask, unknownTaskTimeout, retries } = this.#options
    const { counts, headers } = job
    const { unknownFor = 0 } = counts
    const left = unknownTaskTimeout - unknownFor
    if (retries === 'broker' || unknownTask === 'dead-letter' || left <= 0) return this.giveUp(job, 'unknown_task', error)
    const delay = Math.min(left, MAX_UNKNOWN_DELAY, Math.max(FIRST_UNKNOWN_DELAY, unknownFor))
    return {
      kind: 'republish',
      why: 'unknown_task',
      error: serializeError(error),
      delay,
      counts: { ...counts, losses: job.totalLosses, unknownFor: unknownFor + delay },
      history: withHistory(headers.history, ...job.newHistory),
    }
  }

  /** The job began, and its worker or node died. A broker that decides counts that as an attempt. */
  lost(job: TriedJob, ofTask: number | undefined, error: unknown): Settlement {
    if (this.#options.retries === 'broker' || job.totalLosses > this.#lossesAllowed(job.headers, ofTask)) return this.giveUp(job, 'lost', error)
    return {
      kind: 'republish',
      why: 'lost',
      error: serializeError(error),
      delay: 0,
      counts: { ...job.counts, losses: job.totalLosses },
      history: withHistory(job.headers.history, ...job.newHistory),
    }
  }

  /** The job goes back to the queue without a run, and `requeues` counts it. */
  untried(job: TriedJob, error: unknown, delay?: number): Settlement {
    const requeues = job.counts.requeues + 1
    if (requeues > this.#options.maxRequeues || this.#options.retries === 'broker') return this.giveUp(job, 'redelivered', error)
    return {
      kind: 'republish',
      why: 'untried',
      error: serializeError(error),
      delay: delay ?? retryDelay(REQUEUE_BACKOFF, requeues),
      counts: { ...job.counts, losses: job.totalLosses, requeues },
      history: withHistory(job.headers.history, ...job.newHistory),
    }
  }

  /** The delay before a job is delivered again that could not be alone, ms. */
  isolationDelay({ counts }: Pick<TriedJob, 'counts'>): number {
    return retryDelay(ISOLATION_BACKOFF, counts.requeues + 1)
  }

  /** The job is not tried again, or only by a broker that decides by its own rules. */
  giveUp(job: TriedJob, reason: DeadReason, error: unknown): Settlement {
    return this.#options.retries === 'broker' ? this.#retry(job, error, reason) : this.#dead(job, reason, error)
  }

  #dead(job: TriedJob, reason: DeadReason, error: unknown, noRetry = false): Settlement {
    return {
      kind: 'dead-letter',
      reason,
      error: serializeError(error),
      ...(noRetry ? { noRetry } : undefined),
      counts: { ...job.counts, losses: job.totalLosses },
      history: withHistory(job.headers.history, ...job.newHistory),
    }
  }

  #retry(job: TriedJob, error: unknown, reason: DeadReason = 'failed'): Settlement {
    const { headers, counts, name } = job
    const ofNode = Object.hasOwn(this.#options.taskDefaults, name) ? this.#options.taskDefaults[name] : undefined
    // Where the broker decides, its job says how often it is tried.
    const ofTask = job.target?.options
    if (counts.attempt >= (headers.maxAttempts ?? ofNode?.maxAttempts ?? ofTask?.maxAttempts ?? this.#options.maxAttempts))
      return this.#dead(job, reason, error)
    const after = retryAfterOf(error)
    const backoff = headers.backoff ?? ofNode?.backoff ?? ofTask?.backoff ?? this.#options.backoff
    return {
      kind: 'republish',
      why: WHY[reason] ?? 'untried',
      error: serializeError(error),
      delay: after === undefined ? retryDelay(backoff, counts.attempt) : Math.min(after, job.maxDelay ?? MAX_TIMER),
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
