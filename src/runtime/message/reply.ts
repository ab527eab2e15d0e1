/** The reply to a `call`, and the answer of a job: for its caller as a message, for a broker that keeps answers as a value. */
import { SerializationError } from '../../wire/errors.js'
import type { JobAnswer, SerializedError } from '../delivery.js'
import { UndecodableError } from '../errors.js'
import { MAX_ENCODED_SIZE } from './job.js'
import { pack } from './msgpack/pack.js'
import { unpack } from './msgpack/unpack.js'
import { serializeError } from './serialized-error.js'

export type Reply = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: SerializedError }

/** The reply of a task that returns nothing, as many do. */
const NOTHING = pack({ ok: true, value: undefined }, 'result', MAX_ENCODED_SIZE)

/**
 * Encodes a reply as MessagePack. `root`: what its value is, for messages.
 *
 * @throws {SerializationError} the value holds what MessagePack cannot carry exactly; names the path
 */
export const encodeReply = (reply: Reply, root: 'result' | 'progress' = 'result'): Buffer => {
  if (reply.ok) return reply.value === undefined ? NOTHING : pack({ ok: true, value: reply.value }, root, MAX_ENCODED_SIZE)
  const { name, message, stack, code } = reply.error
  const text = (given: string): string => (given as string & { toWellFormed(): string }).toWellFormed()
  const error = { name: text(name), message: text(message), stack: stack === undefined ? stack : text(stack), code: code === undefined ? code : text(code) }
  return pack({ ok: false, error }, 'error', MAX_ENCODED_SIZE)
}

/** Decodes a reply. A result of `undefined` arrives as `undefined`. Throws UndecodableError. */
export const decodeReply = (body: Buffer): Reply => {
  const reply = unpack(body) as { ok?: unknown; value?: unknown; error?: Partial<SerializedError> } | null
  if (reply?.ok === true) return { ok: true, value: reply.value }
  const error = reply?.ok === false ? reply.error : undefined
  if (typeof error?.name !== 'string' || typeof error.message !== 'string')
    throw new UndecodableError('The answer is not of the form { ok, value } or { ok, error }.')
  const optional = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
  return { ok: false, error: { name: error.name, message: error.message, stack: optional(error.stack), code: optional(error.code) } }
}

/** How a job has ended, as its caller is to learn it. */
export type JobReply = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown }

export const answerOf = (reply: JobReply): JobAnswer => (reply.ok ? reply : { ok: false, error: serializeError(reply.error) })

/** The error of a job that has succeeded with a value that cannot be sent. */
export const unsendable = (why: string, cause: unknown): SerializationError =>
  new SerializationError(`The job has succeeded, but its result cannot be sent: ${why}`, { cause })

/** A value that a message cannot carry becomes an error that says so; `onUnsendable` gets what is wrong with it. */
export const encodeAnswer = (reply: JobReply, onUnsendable: (error: unknown) => void): { body: Buffer; ok: boolean } => {
  if (!reply.ok) return { body: encodeReply({ ok: false, error: serializeError(reply.error) }), ok: false }
  try {
    return { body: encodeReply(reply), ok: true }
  } catch (error) {
    onUnsendable(error)
    return { body: encodeReply({ ok: false, error: serializeError(unsendable((error as Error).message, error)) }), ok: false }
  }
}
