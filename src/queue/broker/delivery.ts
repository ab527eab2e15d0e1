import type { Counts, Delivery, HistoryEntry, JobAnswer, JobHeaders, Settlement, SettleResult } from '../../runtime/delivery.js'
import { CONTENT_TYPE, SCHEMA_VERSION } from '../../runtime/message/job.js'
import { encodeReply } from '../../runtime/message/reply.js'
import { UNCOUNTED_RETURNS } from '../../runtime/retry-policy.js'
import { SerializationError } from '../../wire/errors.js'
import { FOREVER } from '../jobs/add-options.js'
import type { ClaimedJob, StoreSession } from '../store/store.js'
import type { HeldClaim } from './claims.js'
import { type AnswerLimits, bufferOf, outcomeOf, resultsOf } from './outcome.js'

/**
 * How suspicious a job is of having ended its nodes: the runtime lets it run alone, so that its next death counts for no other. It was held unbegun as far as
 * is known, but what is stored of a beginning is a moment late. Its losses are counted by the store, so the runtime is not to count any.
 */
const returnsOf = ({ counts: { losses, requeues } }: ClaimedJob): number => Math.min(losses + requeues, UNCOUNTED_RETURNS)

const NOT_SETTLED: SettleResult = { settled: false, published: false }
const SETTLED: SettleResult = { settled: true, published: false }
const PUBLISHED: SettleResult = { settled: true, published: true }

/** A claimed job as the runtime takes it. A class: functions of its own would take as much memory as the rest of the job. */
export class QueueDelivery implements Delivery {
  readonly id: string
  readonly key: string
  readonly queue: string
  readonly body: Buffer
  readonly headers: JobHeaders
  readonly counts: Counts
  readonly redelivered: boolean
  readonly returned: number
  readonly countedHere = false
  readonly gone: AbortSignal
  readonly keepsAnswer = true
  readonly endWhenGone = true
  readonly results: Delivery['results']
  readonly #job: ClaimedJob
  readonly #session: StoreSession
  readonly #claim: HeldClaim
  readonly #limits: AnswerLimits

  constructor(job: ClaimedJob, session: StoreSession, claim: HeldClaim, limits: AnswerLimits) {
    const { options } = job
    this.#job = job
    this.#session = session
    this.#claim = claim
    this.#limits = limits
    this.id = job.id
    this.key = String(job.seq)
    this.queue = job.queue
    this.body = bufferOf(job.body)
    this.headers = {
      contentType: CONTENT_TYPE,
      contentEncoding: undefined,
      schemaVersion: SCHEMA_VERSION,
      softTimeLimit: options.softTimeLimit,
      timeLimit: options.timeLimit,
      maxAttempts: options.maxAttempts,
      backoff: options.backoff,
      retryLost: options.retryLost,
      priority: job.priority,
      expiresAt: job.expiresAt,
      correlationId: undefined,
      replyTo: undefined,
      history: job.history,
    }
    this.counts = job.counts
    this.redelivered = job.redelivered
    this.returned = returnsOf(job)
    this.gone = session.lost
    this.results = resultsOf(job.results)
  }

  get maxDelay(): number {
    return FOREVER
  }

  settle(settlement: Settlement, answer?: JobAnswer): Promise<SettleResult> {
    const outcome = outcomeOf(this.#job, settlement, answer, this.#limits)
    const result = settlement.kind === 'republish' || settlement.kind === 'dead-letter' ? PUBLISHED : SETTLED
    this.#claim.settling()
    return this.#session.settle(this.#job, outcome).then(
      (isSettled) => (isSettled ? result : NOT_SETTLED),
      (error: unknown) => {
        this.#claim.notSettled()
        throw error
      },
    )
  }

  ended(): void {
    this.#claim.over()
  }

  beforeBegin(): Promise<void> {
    return this.#session.beginning(this.#job)
  }

  /** A job that has come back, or has ended its worker, may be what ends its node next: that must find it begun so often. */
  began(beginnings: number, history?: readonly HistoryEntry[]): void {
    this.#session.began(this.#job, beginnings, this.redelivered || beginnings > 1, history)
  }

  progress(value: unknown): void {
    const { maxResultSize } = this.#limits
    const encoded = encodeReply({ ok: true, value }, 'progress')
    if (encoded.length > maxResultSize) throw new SerializationError(`The progress value takes ${encoded.length} bytes, and maxResultSize is ${maxResultSize}.`)
    this.#session.progress(this.#job, encoded)
  }

  async reply(): Promise<void> {}
}
