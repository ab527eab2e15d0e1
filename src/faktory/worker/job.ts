/** A job as FETCH brings it (https://github.com/contribsys/faktory/wiki/The-Job-Payload). */
import { UndecodableError } from '../../runtime/errors.js'

/** How the last run of a job failed, as the server keeps it. */
export interface JobFailure {
  /** 0 after the first failure. */
  readonly retry_count: number
  readonly remaining?: number
  readonly failed_at?: string
  readonly next_at?: string
  readonly message?: string
  readonly errtype?: string
  readonly backtrace?: readonly string[]
}

export interface FaktoryJob {
  readonly jid: string
  readonly queue: string
  readonly jobtype: string
  readonly args: readonly unknown[]
  readonly custom: Readonly<Record<string, unknown>> | undefined
  /** 0: a failed job is forgotten; -1: it is dead at once; n: n retries, then dead. */
  readonly retry: number
  /** s that the job is reserved for this worker. */
  readonly reserveFor: number
  /** Lines of a backtrace that its publisher wants. */
  readonly backtrace: number
  readonly createdAt: string | undefined
  readonly failure: JobFailure | undefined
}

/** s; the server's values. */
const DEFAULT_RESERVATION = 1_800
const LEAST_RESERVATION = 60
/** The server's default, which follows the last PUSH that named one: the payload always has the value that counts. */
const DEFAULT_RETRY = 25

const numberOr = (value: unknown, fallback: number): number => (typeof value === 'number' && Number.isFinite(value) ? value : fallback)

const textOr = <T>(value: unknown, fallback: T): string | T => (typeof value === 'string' ? value : fallback)

const recordOf = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined

const failureOf = (value: unknown): JobFailure | undefined => {
  const failure = recordOf(value)
  return failure === undefined ? undefined : ({ ...failure, retry_count: numberOr(failure.retry_count, 0) } as JobFailure)
}

/**
 * Reads a payload.
 *
 * @throws {UndecodableError} it is no job, so that nothing can be reported for it
 */
export const readJob = (text: string): FaktoryJob => {
  let given: Record<string, unknown> | undefined
  try {
    given = recordOf(JSON.parse(text))
  } catch (cause) {
    throw new UndecodableError(`The server sent a job that is not JSON: ${(cause as Error).message}.`, { cause })
  }
  const { jid, queue, jobtype, args, custom, retry, reserve_for, backtrace, created_at, failure } = given ?? {}
  if (typeof jid !== 'string' || jid === '') throw new UndecodableError('The server sent a job without a jid.')
  return {
    jid,
    queue: textOr(queue, 'default'),
    jobtype: textOr(jobtype, ''),
    args: Array.isArray(args) ? args : [],
    custom: recordOf(custom),
    retry: numberOr(retry, DEFAULT_RETRY),
    reserveFor: Math.max(LEAST_RESERVATION, numberOr(reserve_for, 0) > 0 ? numberOr(reserve_for, 0) : DEFAULT_RESERVATION),
    backtrace: numberOr(backtrace, 0),
    createdAt: textOr(created_at, undefined),
    failure: failureOf(failure),
  }
}

/** Counts from 1. */
export const attemptOf = ({ failure }: Pick<FaktoryJob, 'failure'>): number => (failure === undefined ? 1 : failure.retry_count + 2)

/** Attempts in all, after which a failed job is dead or forgotten. */
export const attemptsOf = ({ retry }: Pick<FaktoryJob, 'retry'>): number => Math.max(1, retry + 1)

/** Whether the server tries the job again after a FAIL of this run. */
export const hasRetryLeft = (job: Pick<FaktoryJob, 'failure' | 'retry'>): boolean => attemptOf(job) < attemptsOf(job)

/** What becomes of a job that is not reported, for warnings. */
export const AFTER_RESERVATION =
  'When its reservation ends, Faktory takes it for failed: it is tried again if it has a retry left; otherwise it is dead, or forgotten with a retry of 0.'

/** ms until the server tries a job again that has failed now, without the random part: it adds up to 30 s for each attempt. */
export const retryDelayOf = (job: Pick<FaktoryJob, 'failure'>): number => (15 + (attemptOf(job) - 1) ** 4) * 1_000
