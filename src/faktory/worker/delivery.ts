import { performance } from 'node:perf_hooks'
import type { Counts, Delivery, JobHeaders, SerializedError, Settlement, SettleResult } from '../../runtime/delivery.js'
import { UndecodableError } from '../../runtime/errors.js'
import { type JobMessage, SCHEMA_VERSION } from '../../runtime/message/job.js'
import { serializeError } from '../../runtime/message/serialized-error.js'
import { PreforkError } from '../../wire/errors.js'
import { failureOf } from './failure.js'
import { attemptOf, attemptsOf, type FaktoryJob, hasRetryLeft, type JobFailure, retryDelayOf } from './job.js'
import type { Reports } from './reports.js'

/** `currentJob().delivery` of a job from Faktory, besides the fields that it has under every broker. */
export interface FaktoryDeliveryFields {
  /** The `custom` of its publisher; also the job's context. */
  readonly custom?: Readonly<Record<string, unknown>>
  readonly created_at?: string
  /** s that the job is reserved for this run. */
  readonly reserve_for: number
  /** How its last run failed, as the server keeps it. */
  readonly failure?: JobFailure
}

export interface DeliveryContext {
  /** Of the node. */
  readonly wid: string
  readonly reports: Reports
  /** Bytes of a payload, at most. */
  readonly maxBodySize: number
  /** ms before the end of a reservation at which a run must have ended. */
  readonly reserveMargin: number
  warn(message: string): void
}

const NO_BODY = Buffer.alloc(0)
const NO_ARGS: readonly unknown[] = []
/** A reservation is not taken away by a lost connection: nothing aborts. */
const NEVER_GONE = new AbortController().signal

const SETTLED: SettleResult = { settled: true, published: true }
const NOT_SETTLED: SettleResult = { settled: false, published: false }
const LEFT: SettleResult = { ...NOT_SETTLED, left: true }

const resultOf = (isTaken: boolean): SettleResult => (isTaken ? SETTLED : NOT_SETTLED)

/** The node ended its run. A task may throw an error with this code, too: that is a failure. */
const isInterruption = (settlement: Exclude<Settlement, { kind: 'acknowledge' | 'revoked' | 'requeue' }>): boolean =>
  (settlement.kind === 'republish' ? settlement.why : settlement.reason) === 'lost' && settlement.error.code === 'ERR_PREFORK_NODE_SHUTDOWN'

/** How the runs of this reservation ended that were lost before the last one: FAIL has one error. */
const lostBefore = (settlement: Extract<Settlement, { kind: 'republish' | 'dead-letter' }>): string[] => {
  const lost = settlement.history.flatMap(({ outcome, error }) => (outcome === 'lost' ? [error] : []))
  const isLast = (settlement.kind === 'republish' ? settlement.why : settlement.reason) === 'lost'
  return isLast ? lost.slice(0, -1) : lost
}

let number = 0

/** A reserved job as the runtime takes it. */
export class FaktoryDelivery implements Delivery {
  readonly id: string
  readonly key: string
  readonly queue: string
  readonly body = NO_BODY
  readonly comesOnce = true
  readonly headers: JobHeaders
  readonly counts: Counts
  readonly redelivered: boolean
  readonly countedHere = false
  readonly gone: AbortSignal = NEVER_GONE
  readonly deadline: number
  /** As FaktoryDeliveryFields. */
  readonly about: Readonly<Record<string, unknown>>
  readonly #job: Omit<FaktoryJob, 'args'>
  /** Not kept by a report that waits to be sent. */
  #args: readonly unknown[]
  readonly #size: number
  readonly #reservedUntil: number
  readonly #context: DeliveryContext
  readonly #release: () => void

  /** `size`: bytes of the payload. `fetchedAt`: when its FETCH was sent, ms on the monotonic clock; its reservation began later. `release`: it takes up no room any more. */
  constructor(job: FaktoryJob, { size, fetchedAt }: { size: number; fetchedAt: number }, context: DeliveryContext, release: () => void) {
    const { args, ...kept } = job
    const { jid, queue, failure, custom, createdAt, reserveFor } = kept
    this.#job = kept
    this.#args = args
    this.#size = size
    this.#context = context
    this.#release = release
    this.#reservedUntil = fetchedAt + reserveFor * 1_000
    this.deadline = this.#reservedUntil - context.reserveMargin
    this.id = jid
    // The server takes one jid twice: each reservation is a job of its own, on whichever node.
    this.key = `${jid}.${context.wid}.${++number}`
    this.queue = queue
    this.counts = { attempt: attemptOf(job), losses: 0, requeues: 0 }
    this.redelivered = failure?.errtype === 'ReservationExpired'
    // Without spreads, which cost some microseconds for each job.
    const about: Record<string, unknown> = { reserve_for: reserveFor }
    if (createdAt !== undefined) about.created_at = createdAt
    if (custom !== undefined) about.custom = custom
    if (failure !== undefined) about.failure = failure
    this.about = about
    this.headers = {
      contentType: undefined,
      contentEncoding: undefined,
      schemaVersion: SCHEMA_VERSION,
      softTimeLimit: undefined,
      timeLimit: undefined,
      // The server decides by the same rule.
      maxAttempts: attemptsOf(job),
      backoff: { kind: 'fixed', delay: retryDelayOf(job) },
      retryLost: undefined,
      priority: undefined,
      // The deadline says it, on a clock that nobody sets.
      expiresAt: undefined,
      correlationId: undefined,
      replyTo: undefined,
      history: [],
    }
  }

  get deadlineOf(): string {
    return `its reservation of ${this.#job.reserveFor} s (reserve_for)`
  }

  get isForgotten(): boolean {
    return this.#job.retry === 0
  }

  decode(): JobMessage {
    const { jobtype, custom } = this.#job
    const { maxBodySize } = this.#context
    if (this.#size > maxBodySize) throw new UndecodableError(`The job (${this.#size} bytes) is larger than maxBodySize (${maxBodySize} bytes).`)
    return { task: jobtype, args: this.#args, context: custom }
  }

  settle(settlement: Settlement): Promise<SettleResult> {
    this.#release()
    this.#args = NO_ARGS
    switch (settlement.kind) {
      case 'acknowledge':
      case 'revoked':
        return this.#context.reports.ack(this.id).then(resultOf)
      case 'requeue':
        return this.#interrupted(serializeError(new PreforkError('ERR_PREFORK_NODE_SHUTDOWN', 'The node ended before the job had begun.')), 'begun')
      default:
        if (isInterruption(settlement)) return this.#interrupted(settlement.error, 'ended')
        return settlement.kind === 'dead-letter' && settlement.noRetry === true
          ? this.#failForGood(settlement.error, lostBefore(settlement))
          : this.#fail(settlement.error, lostBefore(settlement))
    }
  }

  #fail(error: SerializedError, lost: readonly string[] = []): Promise<SettleResult> {
    return this.#context.reports.fail(failureOf(this.#job, error, lost), this.#reservedUntil).then(resultOf)
  }

  /** The task has said that the job must not be tried again: what a FAIL has put among the retries is killed there. */
  async #failForGood(error: SerializedError, lost: readonly string[]): Promise<SettleResult> {
    const result = await this.#fail(error, lost)
    if (!result.settled || !hasRetryLeft(this.#job)) return result
    const { jobtype, jid } = this.#job
    let why = 'the server did not answer in time'
    try {
      if (await this.#context.reports.kill(this.#job)) return result
    } catch (failure) {
      why = (failure as Error).message
    }
    this.#context.warn(`The job ${jid} ('${jobtype}') has failed for good, and could not be put into the dead set: ${why}. Faktory tries it again.`)
    return result
  }

  /**
   * It was not the job that failed. One without a retry is not told to have failed: the server does the same to it when its reservation ends, but not now.
   * `not`: what it has not done.
   */
  async #interrupted(error: SerializedError, not: 'begun' | 'ended'): Promise<SettleResult> {
    if (hasRetryLeft(this.#job)) return await this.#fail(error)
    const { jobtype, jid, retry } = this.#job
    const left = Math.ceil(Math.max(0, this.#reservedUntil - performance.now()) / 1_000)
    this.#context.warn(
      `The job ${jid} ('${jobtype}') has ${not === 'begun' ? 'never begun' : 'begun, has not ended'} and has no retry left. It is left to its reservation, which ends in ${left} s. Then Faktory takes it for failed, and ${retry === 0 ? 'forgets it' : 'puts it into the dead set'}.`,
    )
    return not === 'begun' ? LEFT : NOT_SETTLED
  }

  async reply(): Promise<void> {}
}
