import type { JobAnswer, RunRecord, Settlement } from '../../runtime/delivery.js'
import type { UndecodableError } from '../../runtime/errors.js'
import { decodeReply, encodeAnswer, encodeReply } from '../../runtime/message/reply.js'
import { SerializationError } from '../../wire/errors.js'
import { CANCELLED } from '../store/ended-jobs.js'
import type { ClaimedJob, Outcome } from '../store/store.js'

/** How answers are stored. */
export interface AnswerLimits {
  /** Bytes of an encoded answer. */
  readonly maxResultSize: number
  /** A job has succeeded with a value that cannot be stored: its answer says so. */
  readonly onUnstorable: (job: ClaimedJob, why: string) => void
}

/** What a settlement of the runtime comes to in the store. */
export const outcomeOf = (job: ClaimedJob, settlement: Settlement, answer: JobAnswer | undefined, limits: AnswerLimits): Outcome => {
  switch (settlement.kind) {
    case 'acknowledge':
      return { as: 'completed', answer: storedAnswer(job, answer ?? { ok: true, value: undefined }, limits), ...recordOf(settlement) }
    case 'revoked':
      return { as: 'cancelled', reason: 'cancelled', error: CANCELLED.error, ...(settlement.record ?? { counts: job.counts, history: job.history }) }
    case 'requeue':
      return { as: 'release' }
    case 'republish': {
      const { delay, counts, history, error } = settlement
      return { as: 'retry', delay, counts, history, error }
    }
    case 'dead-letter': {
      const { reason, counts, history, error } = settlement
      return { as: reason === 'expired' ? 'expired' : 'failed', reason, counts, history, error }
    }
  }
}

/** Without the property where there is nothing: the request of nearly every job has its shortest form then. */
const recordOf = ({ record }: { readonly record?: RunRecord }): { readonly record?: RunRecord } | undefined => (record === undefined ? undefined : { record })

const storedAnswer = (job: ClaimedJob, answer: JobAnswer, { maxResultSize, onUnstorable }: AnswerLimits): Uint8Array => {
  const warn = (error: unknown): void => onUnstorable(job, (error as Error).message)
  // The error of an answer is serialized already. Its parts are bounded.
  if (!answer.ok) return encodeReply(answer)
  const { body, ok } = encodeAnswer(answer, warn)
  if (!ok || body.length <= maxResultSize) return body
  const error = new SerializationError(
    `The job has succeeded, but its result cannot be stored: it takes ${body.length} bytes, and maxResultSize is ${maxResultSize}.`,
  )
  warn(error)
  return encodeAnswer({ ok: false, error }, warn).body
}

/** What the jobs that it depended on returned. One whose result could not be stored is absent. */
export const resultsOf = (stored: ClaimedJob['results']): Readonly<Record<string, unknown>> | undefined =>
  stored === undefined
    ? undefined
    : Object.fromEntries(
        Object.entries(stored).flatMap(([id, answer]) => {
          const reply = decodeReply(bufferOf(answer))
          return reply.ok ? [[id, reply.value]] : []
        }),
      )

/** A claimed job that no delivery can be made of. */
export const undecodable = ({ counts, history }: ClaimedJob, { message, code }: UndecodableError): Outcome => {
  const error = { name: 'UndecodableError', message: `The answer of a job that it depends on cannot be read: ${message}`, stack: undefined, code }
  return { as: 'failed', reason: 'undecodable', error, counts, history }
}

/** The same bytes as a Buffer. */
export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
