/** Values ↔ bytes: what `structuredClone` copies arrives as it left, everything else is refused. */
import { types } from 'node:util'
import { PreforkError, SerializationError } from '../errors.js'
import { LENGTH_BYTES } from '../frame.js'
import type { Blobs } from './blobs.js'
import { read, write } from './by-v8.js'
import * as format from './format.js'
import { PlainReader } from './plain/reader.js'
import { NOT_PLAIN, PlainWriter } from './plain/writer.js'
import { Received } from './received.js'
import type { References } from './reference.js'
import { Snapshot } from './snapshot.js'
import { checkTransfer, move } from './transfer.js'

export interface Encoded {
  /** `reserve` free bytes, then the encoded value. */
  readonly body: Buffer
  /** Large binary values that follow the body, in order. */
  readonly binaries: readonly Uint8Array[]
  /** Bytes in all, without the reserve. */
  readonly size: number
}

export interface EncodeOptions {
  /** Copy large binaries instead of referring to the caller's memory. Default false. */
  copyBinaries?: boolean
  /** ArrayBuffers that are moved, not copied: detached once the value is encoded, and left alone if it cannot be. */
  transfer?: readonly ArrayBuffer[]
  /** Where in its frame's body the encoded value will lie: large binaries are aligned by that. Default: behind the reserve, which begins with the frame's length. */
  at?: number
  /** What the value is called in the path that an error names. Default `value`. */
  root?: string
  /** Put a note in the place of what cannot be sent, rather than refusing the whole. Default false. */
  lenient?: boolean
}

const none: readonly Uint8Array[] = []

/** What `[]` comes to: one for all, because the arguments of each job that waits are kept. Not to be written to. */
export const EMPTY_ARRAY: Encoded = { body: Buffer.of(format.CONST_EMPTY_ARRAY), binaries: none, size: 1 }

/** The format byte of a value that needs no walk, or -1. */
const constant = (value: unknown): number => {
  if (value === undefined) return format.CONST_UNDEFINED
  if (value === null) return format.CONST_NULL
  if (value === false) return format.CONST_FALSE
  if (value === true) return format.CONST_TRUE
  if (Array.isArray(value) && value.length === 0 && !types.isProxy(value) && Object.keys(value).length === 0) return format.CONST_EMPTY_ARRAY
  return -1
}

/** An error of whatever kind as a SerializationError. */
const unsendable = (root: string, cause: unknown): SerializationError => {
  if (cause instanceof SerializationError) return cause
  const message =
    cause instanceof RangeError && /call stack/i.test(cause.message)
      ? 'is nested too deeply'
      : `cannot be encoded: ${cause instanceof Error ? cause.message : String(cause)}`
  return new SerializationError(`${root} ${message}`, { cause })
}

/** Encodes a value behind `reserve` free bytes. Throws SerializationError, and TypeError for a `transfer` that holds anything but ArrayBuffers. */
export const encode = (value: unknown, reserve: number, options?: EncodeOptions): Encoded => {
  const transfer = options?.transfer !== undefined && options.transfer.length > 0 ? options.transfer : undefined
  if (transfer !== undefined) checkTransfer(transfer)
  const byte = constant(value)
  if (byte >= 0) {
    if (transfer !== undefined) move(transfer)
    if (byte === format.CONST_EMPTY_ARRAY && reserve === 0) return EMPTY_ARRAY
    const body = Buffer.allocUnsafe(reserve + 1)
    body[reserve] = byte
    return { body, binaries: none, size: 1 }
  }
  const root = options?.root ?? 'value'
  try {
    return encodePlain(value, reserve, root, options, transfer)
  } catch (error) {
    throw unsendable(root, error)
  }
}

const encodePlain = (
  value: unknown,
  reserve: number,
  root: string,
  options: EncodeOptions | undefined,
  transfer: readonly ArrayBuffer[] | undefined,
): Encoded => {
  const writer = PlainWriter.take()
  let size = NOT_PLAIN
  try {
    size = writer.write(value, 0)
  } catch {
    // The walk meets it again, and knows its name.
  }
  if (size < 0) {
    const taken = writer.taken()
    writer.giveBack()
    return encodeWalked(value, reserve, root, options, transfer, taken)
  }
  if (writer.blobs !== undefined) return plainWithBlobs(writer, writer.blobs, size, reserve, options, transfer)
  if (transfer !== undefined) move(transfer)
  const body = allocate(reserve + 1 + size)
  body[reserve] = writer.same ? format.PLAIN | format.FLAG_SAME : format.PLAIN
  writer.bytes.copy(body, reserve + 1, 0, size)
  writer.giveBack()
  return { body, binaries: none, size: size + 1 }
}

const plainWithBlobs = (
  writer: PlainWriter,
  blobs: Blobs,
  size: number,
  reserve: number,
  options: EncodeOptions | undefined,
  transfer: readonly ArrayBuffer[] | undefined,
): Encoded => {
  blobs.resolve()
  writer.fillReferences()
  const at = reserve + 1 + blobs.tableBytes
  const body = allocate(at + size + blobs.smallBytes)
  body[reserve] = writer.same ? format.PLAIN | format.FLAG_SAME : format.PLAIN
  writer.bytes.copy(body, at, 0, size)
  writer.giveBack()
  return withBlobs(body, blobs, reserve, options, transfer)
}

const encodeWalked = (
  value: unknown,
  reserve: number,
  root: string,
  options: EncodeOptions | undefined,
  transfer: readonly ArrayBuffer[] | undefined,
  taken: ReadonlyMap<object, object> | undefined,
): Encoded => {
  const snapshot = Snapshot.take(root)
  snapshot.taken = taken
  if (options?.lenient === true) snapshot.lenient = 1
  const copy = snapshot.copy(value, undefined)
  const { blobs, errors, references } = snapshot
  blobs?.resolve()
  const table = blobs?.tableBytes ?? 0
  const small = blobs?.smallBytes ?? 0
  const body =
    errors === undefined ? v8Body(copy, reserve, table, small, 0, references) : v8Body([copy, errors], reserve, table, small, format.FLAG_ERRORS, references)
  snapshot.giveBack()
  if (blobs !== undefined) return withBlobs(body, blobs, reserve, options, transfer)
  if (transfer !== undefined) move(transfer)
  return { body, binaries: none, size: body.length - reserve }
}

/** `body`: reserve, format byte, room for the table, the content, room for the small binaries. */
const withBlobs = (body: Buffer, blobs: Blobs, reserve: number, options: EncodeOptions | undefined, transfer: readonly ArrayBuffer[] | undefined): Encoded => {
  body[reserve]! |= format.FLAG_BLOBS
  blobs.write(body, reserve + 1, body.length - reserve - 1 - blobs.tableBytes - blobs.smallBytes)
  const size = body.length - reserve
  if (blobs.largeBytes === 0) {
    if (transfer !== undefined) move(transfer)
    return { body, binaries: none, size }
  }
  const { views, adopt } = blobs.large(options?.copyBinaries === true, transfer)
  // Last, because nothing may be detached if the call fails.
  if (transfer !== undefined) adopt(move(transfer))
  const padding = -((options?.at ?? reserve - LENGTH_BYTES) + size) & (format.ALIGNMENT - 1)
  const padded = padding === 0 ? body : Buffer.concat([body], body.length + padding)
  return { body: padded, binaries: views, size: size + padding + blobs.largeBytes }
}

/** Bodies that small come out of Node's pool, whose slabs are no larger than a few of them. */
const POOLED = 4096

const allocate = (bytes: number): Buffer => (bytes < POOLED ? Buffer.allocUnsafe(bytes) : Buffer.allocUnsafeSlow(bytes))

/** A body of at least this size is not worth copying to be rid of the room that node:v8 has left behind it. */
const WORTH_TRIMMING = 65_536

const v8Body = (copy: unknown, reserve: number, table: number, small: number, flags: number, references: References | undefined): Buffer => {
  const head = reserve + 1 + table
  const written = write(copy, head, references)
  let body = written
  if (small > 0 || written.length < WORTH_TRIMMING) {
    body = allocate(written.length + small)
    body.set(written, 0)
  }
  body[reserve] = format.BY_V8 | flags
  return body
}

/** Decodes what `encode` made: `bytes` holds the body from `offset` on, then the binaries, and nothing else. */
export const decode = (bytes: Buffer, offset: number): unknown => {
  const byte = bytes[offset]
  switch (byte) {
    case format.CONST_UNDEFINED:
      return undefined
    case format.CONST_NULL:
      return null
    case format.CONST_FALSE:
      return false
    case format.CONST_TRUE:
      return true
    case format.CONST_EMPTY_ARRAY:
      return []
    default:
  }
  try {
    return decodeContent(bytes, offset, byte)
  } catch (cause) {
    if (cause instanceof PreforkError) throw cause
    throw new SerializationError(`a value that cannot be decoded: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

const decodeContent = (bytes: Buffer, offset: number, byte: number | undefined): unknown => {
  const known = (byte ?? 0) & (format.PLAIN | format.BY_V8)
  const flags = known === format.PLAIN ? format.FLAG_SAME : format.FLAG_ERRORS
  if (byte === undefined || known === 0 || (byte & ~(known | flags | format.FLAG_BLOBS)) !== 0 || known === (format.PLAIN | format.BY_V8)) {
    throw new SerializationError(`a value of unknown format ${byte ?? '(no bytes)'}`)
  }
  const blobs = (byte & format.FLAG_BLOBS) !== 0 ? new Received(bytes, offset + 1) : undefined
  const start = blobs?.start ?? offset + 1
  const end = blobs?.end ?? bytes.length
  if (known === format.PLAIN) return new PlainReader(bytes, start, end, (byte & format.FLAG_SAME) !== 0, blobs).read()
  return read(bytes.subarray(start, end), blobs, (byte & format.FLAG_ERRORS) !== 0)
}
