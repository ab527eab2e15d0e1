import { UndecodableError } from '../errors.js'
import { type Compression, compress, compressionNamed, decompress, tooLarge } from './compression.js'
import { looksLikeJson, parseJson } from './json.js'
import { pack } from './msgpack/pack.js'
import { unpack } from './msgpack/unpack.js'
import { readSameHead, rememberHead } from './same-head.js'

/** The content of a body. */
export interface JobMessage {
  readonly task: string
  readonly args: readonly unknown[]
  /** Keyword arguments of publishers in other languages. The task receives them as a last object argument. */
  readonly kwargs?: Readonly<Record<string, unknown>>
  /** `currentJob().context` in the task. */
  readonly context?: unknown
}

export interface EncodedJob {
  readonly body: Buffer
  readonly contentType: string
  readonly contentEncoding: string | undefined
  readonly schemaVersion: number
}

/** The headers that say how the body is decoded. */
export interface BodyHeaders {
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  readonly schemaVersion: number
}

export const SCHEMA_VERSION = 1
export const CONTENT_TYPE = 'application/msgpack'

/** The largest body, bytes: the default limit of RabbitMQ before version 4. */
export const MAX_ENCODED_SIZE = 128 * 1024 * 1024

const msgpackTypes = new Set([CONTENT_TYPE, 'application/x-msgpack', 'application/vnd.msgpack'])

/**
 * Encodes a job as MessagePack. Returns a promise with `compress`, which works off the main thread.
 *
 * @throws {SerializationError} the arguments or the context hold what MessagePack cannot carry exactly; names the path
 */
export function encodeJob(message: JobMessage): EncodedJob
export function encodeJob(message: JobMessage, options: { compress?: Compression | undefined }): EncodedJob | Promise<EncodedJob>
export function encodeJob(message: JobMessage, options?: { compress?: Compression | undefined }): EncodedJob | Promise<EncodedJob> {
  const { task, args, kwargs, context } = message
  const body = pack({ task, args: withoutTail(args), kwargs, context }, '', MAX_ENCODED_SIZE)
  const how = options?.compress
  const encoded = { body, contentType: CONTENT_TYPE, contentEncoding: how, schemaVersion: SCHEMA_VERSION }
  return how === undefined ? encoded : compress(body, how).then((compressed) => ({ ...encoded, body: compressed }))
}

/** Trailing undefined arguments are not sent: `f(1, undefined)` is `f(1)`. */
const withoutTail = (args: readonly unknown[]): readonly unknown[] => {
  let { length } = args
  while (length > 0 && args[length - 1] === undefined) length--
  return length === args.length ? args : args.slice(0, length)
}

export interface DecodeOptions {
  /** Bytes of the body, once decompressed. */
  readonly maxBodySize: number
  /** Called with the size of a compressed body once it is decompressed. */
  readonly unpacked?: (bytes: number) => void
}

/**
 * Decodes a job: MessagePack or JSON, by its content type. Returns a promise for a compressed body, which is decompressed off the main thread.
 *
 * @throws {UndecodableError} (or rejects with it) the message cannot be decoded; its text says why
 */
export const decodeJob = (body: Buffer, headers: BodyHeaders, { maxBodySize, unpacked }: DecodeOptions): JobMessage | Promise<JobMessage> => {
  if (headers.schemaVersion !== SCHEMA_VERSION)
    throw new UndecodableError(
      `The message has ${Number.isNaN(headers.schemaVersion) ? 'a schema version that is no number' : `schema version ${headers.schemaVersion}`}; this node reads version ${SCHEMA_VERSION}.`,
    )
  const json = isJson(headers.contentType)
  const how = compressionNamed(headers.contentEncoding)
  if (body.length > maxBodySize) throw tooLarge(`(${body.length} bytes) is larger`, maxBodySize)
  if (how === undefined) return read(body, json)
  return decompress(body, how, maxBodySize).then((whole) => {
    unpacked?.(whole.length)
    return read(whole, json)
  })
}

/** Undefined when the message has no content type. */
const isJson = (contentType: string | undefined): boolean | undefined => {
  if (contentType === CONTENT_TYPE) return false
  if (contentType === undefined || contentType === '') return undefined
  const [type, ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  if (msgpackTypes.has(type!)) return false
  if (type === 'application/json' && parameters.every((each) => !each.startsWith('charset=') || /^charset="?utf-?8"?$/.test(each))) return true
  throw new UndecodableError(`The content type '${contentType}' is not known; known are ${CONTENT_TYPE} and application/json (in UTF-8).`)
}

const read = (body: Buffer, json: boolean | undefined): JobMessage => {
  if (json ?? looksLikeJson(body)) return shaped(parseJson(body))
  const known = readSameHead(body)
  if (known !== undefined) return Array.isArray(known.args) ? { task: known.task, args: known.args } : shaped(known)
  const message = shaped(unpack(body))
  rememberHead(body, message.task)
  return message
}

const shaped = (value: unknown): JobMessage => {
  if (!isRecord(value)) throw wrong('is not a map { task, args, kwargs?, context? }')
  // Own properties only: those of Object.prototype are not part of the body.
  const own = (key: string): unknown => (Object.hasOwn(value, key) ? value[key] : undefined)
  const task = own('task')
  const args = own('args') ?? []
  const kwargs = own('kwargs') ?? undefined
  if (typeof task !== 'string' || task === '') throw wrong("has no 'task': a text that names the task")
  if (!Array.isArray(args)) throw wrong("has 'args' that are not an array")
  if (kwargs !== undefined && !isRecord(kwargs)) throw wrong("has 'kwargs' that are not a map")
  if (kwargs === undefined && value.context === undefined) return { task, args }
  return { task, args, ...(kwargs === undefined ? undefined : { kwargs }), ...(own('context') === undefined ? undefined : { context: own('context') }) }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date) && !(value instanceof Uint8Array)

const wrong = (what: string): UndecodableError => new UndecodableError(`The body ${what}.`)
