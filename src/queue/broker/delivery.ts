import type { Delivery } from '../../runtime/delivery.js'
import { CONTENT_TYPE, SCHEMA_VERSION } from '../../runtime/message/job.js'
import { encodeReply } from '../../runtime/message/reply.js'
import { UNCOUNTED_RETURNS } from '../../runtime/retry-policy.js'
import { SerializationError } from '../../wire/errors.js'
import type { ClaimedJob, StoreSession } from '../store/store.js'
import type { HeldClaim } from './claims.js'
import { type AnswerLimits, bufferOf, outcomeOf, resultsOf } from './outcome.js'

/**
 * How suspicious a job is of having ended its nodes: the runtime lets it run alone, so that its next death counts for no other. It was held unbegun as far as
 * is known, but what is stored of a beginning is a moment late. Its losses are counted by the store, so the runtime is not to count any.
 */
const returnsOf = ({ counts: { losses, requeues } }: ClaimedJob): number => Math.min(losses + requeues, UNCOUNTED_RETURNS)

/** A claimed job as the runtime takes it. */
export const deliveryOf = (job: ClaimedJob, session: StoreSession, claim: HeldClaim, limits: AnswerLimits): Delivery => {
  const { id, seq, queue, body, options, counts, history, priority, expiresAt, redelivered } = job
  const results = resultsOf(job.results)
  return {
    id,
    key: String(seq),
    queue,
    body: bufferOf(body),
    headers: {
      contentType: CONTENT_TYPE,
      contentEncoding: undefined,
      schemaVersion: SCHEMA_VERSION,
      softTimeLimit: options.softTimeLimit,
      timeLimit: options.timeLimit,
      maxAttempts: options.maxAttempts,
      backoff: options.backoff,
      retryLost: options.retryLost,
      priority,
      expiresAt,
      correlationId: undefined,
      replyTo: undefined,
      history,
    },
    counts,
    redelivered,
    returned: returnsOf(job),
    countedHere: false,
    gone: session.lost,
    keepsAnswer: true,
    endWhenGone: true,
    ...(results === undefined ? undefined : { results }),
    settle: async (settlement, answer) => {
      const outcome = outcomeOf(job, settlement, answer, limits)
      claim.settling()
      try {
        const settled = await session.settle(job, outcome)
        return { settled, published: settled && (settlement.kind === 'republish' || settlement.kind === 'dead-letter') }
      } catch (error) {
        claim.notSettled()
        throw error
      }
    },
    ended: () => claim.over(),
    beforeBegin: () => session.beginning(job),
    // A job that has come back, or has ended its worker, may be what ends its node next: that must find it begun so often.
    began: (beginnings) => session.began(job, beginnings, redelivered || beginnings > 1),
    progress: (value) => {
      const encoded = encodeReply({ ok: true, value }, 'progress')
      if (encoded.length > limits.maxResultSize)
        throw new SerializationError(`The progress value takes ${encoded.length} bytes, and maxResultSize is ${limits.maxResultSize}.`)
      session.progress(job, encoded)
    },
    reply: async () => {},
  }
}
