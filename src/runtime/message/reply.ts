/** The reply to a `call`. */
import type { SerializedError } from '../delivery.js'
import { UndecodableError } from '../errors.js'
import { MAX_ENCODED_SIZE } from './job.js'
import { pack } from './msgpack/pack.js'
import { unpack } from './msgpack/unpack.js'

export type Reply = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: SerializedError }

/**
 * Encodes a reply as MessagePack.
 *
 * @throws {SerializationError} the value holds what MessagePack cannot carry exactly; names the path
 */
export const encodeReply = (reply: Reply): Buffer => {
  if (reply.ok) return pack({ ok: true, value: reply.value }, 'result', MAX_ENCODED_SIZE)
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
