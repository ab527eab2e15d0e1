/** Values ↔ bytes. What `structuredClone` copies arrives as it was; everything else is refused. */
import { types } from 'node:util'
import { PreforkError, SerializationError } from '../errors.js'
import { LENGTH_BYTES } from '../frame.js'
import { BlobReader } from './blob-reader.js'
import type { BlobWriter } from './blob-writer.js'
import * as format from './format.js'
import { describe } from './path.js'
import { PlainReader } from './plain/reader.js'
import { NOT_PLAIN, PlainWriter } from './plain/writer.js'
import type { References } from './reference.js'
import { Snapshot } from './snapshot.js'
import { read, write } from './v8-content.js'

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
  /** Offset of the encoded value in the frame's body, used to align large binaries. Default: `reserve` minus the 4 bytes of the frame's length. */
  at?: number
  /** The value's name in the path of an error. Default `value`. */
  root?: string
  /** Replace what cannot be sent by a note, instead of refusing the whole value. Default false. */
  replaceUnsendable?: boolean
}

type Transfer = readonly ArrayBuffer[]

const none: readonly Uint8Array[] = []

/** `[]`, encoded once and shared by all jobs, because each waiting job keeps its encoded arguments in memory. Must not be written to. */
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

/** Any error as a SerializationError. */
const unsendable = (root: string, cause: unknown): SerializationError => {
  if (cause instanceof SerializationError) return cause
  const message =
    cause instanceof RangeError && /call stack/i.test(cause.message)
      ? 'is nested too deeply'
      : `cannot be encoded: ${cause instanceof Error ? cause.message : String(cause)}`
  return new SerializationError(`${root} ${message}`, { cause })
}

/** Refuses a `transfer` list that cannot be moved, before anything is detached. */
const checkTransfer = (transfer: readonly unknown[]): void => {
  const listed = new Set<unknown>()
  for (const [i, item] of transfer.entries()) {
    if (!types.isArrayBuffer(item)) {
      const hint = ArrayBuffer.isView(item) ? ': name its .buffer' : ''
      throw new TypeError(`transfer[${i}] must be an ArrayBuffer, but is ${describe(item)}${hint}`)
    }
    if (listed.has(item)) throw new SerializationError(`transfer[${i}] is an ArrayBuffer that the list names twice`)
    // Node 20 would detach the pool of all other Buffers in it; later majors refuse it themselves.
    if (item === Buffer.allocUnsafe(1).buffer) throw new SerializationError(`transfer[${i}] is the pool that small Buffers share, which cannot be transferred`)
    listed.add(item)
  }
}

/** Moves all ArrayBuffers or none: they are detached, and those returned own their memory. */
const detachAll = (transfer: readonly ArrayBuffer[]): ArrayBuffer[] => {
  try {
    return structuredClone(transfer as ArrayBuffer[], { transfer: transfer as ArrayBuffer[] })
  } catch (cause) {
    throw new SerializationError(`transfer: ${(cause as Error).message}`, { cause })
  }
}

/** Encodes a value behind `reserve` free bytes. Throws SerializationError, and TypeError if `transfer` holds anything but ArrayBuffers. */
export const encode = (value: unknown, reserve: number, options?: EncodeOptions): Encoded => {
  const transfer = options?.transfer !== undefined && options.transfer.length > 0 ? options.transfer : undefined
  if (transfer !== undefined) checkTransfer(transfer)
  const byte = constant(value)
  if (byte >= 0) {
    if (transfer !== undefined) detachAll(transfer)
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

const encodePlain = (value: unknown, reserve: number, root: string, options?: EncodeOptions, transfer?: Transfer): Encoded => {
  const writer = PlainWriter.acquire()
  let size = NOT_PLAIN
  try {
    size = writer.write(value, 0)
  } catch {
    // The snapshot throws the same error with its path.
  }
  if (size < 0) {
    const copies = writer.copies()
    writer.release()
    return encodeSnapshot(value, reserve, root, options, transfer, copies)
  }
  if (writer.blobs !== undefined) return plainWithBlobs(writer, writer.blobs, size, reserve, options, transfer)
  if (transfer !== undefined) detachAll(transfer)
  const body = allocate(reserve + 1 + size)
  body[reserve] = writer.hasBackReferences ? format.PLAIN | format.FLAG_BACK_REFERENCES : format.PLAIN
  copyInto(body, reserve + 1, writer.bytes, size)
  writer.release()
  return { body, binaries: none, size: size + 1 }
}

/** Few bytes are copied one by one: a call into Node would cost more. */
const FEW_BYTES = 32

const copyInto = (to: Buffer, at: number, from: Buffer, size: number): void => {
  if (size > FEW_BYTES) from.copy(to, at, 0, size)
  else for (let i = 0; i < size; i++) to[at + i] = from[i]!
}

const plainWithBlobs = (writer: PlainWriter, blobs: BlobWriter, size: number, reserve: number, options?: EncodeOptions, transfer?: Transfer): Encoded => {
  blobs.resolve()
  writer.fillReferences()
  const at = reserve + 1 + blobs.tableBytes
  const body = allocate(at + size + blobs.smallBytes)
  body[reserve] = writer.hasBackReferences ? format.PLAIN | format.FLAG_BACK_REFERENCES : format.PLAIN
  writer.bytes.copy(body, at, 0, size)
  writer.release()
  return withBlobs(body, blobs, reserve, options, transfer)
}

const encodeSnapshot = (value: unknown, reserve: number, root: string, options?: EncodeOptions, transfer?: Transfer, copies?: Map<object, object>): Encoded => {
  const snapshot = Snapshot.acquire(root)
  snapshot.knownCopies = copies
  if (options?.replaceUnsendable === true) snapshot.replaceDepth = 1
  const copy = snapshot.copy(value, undefined)
  const { blobs, errors, references } = snapshot
  blobs?.resolve()
  const table = blobs?.tableBytes ?? 0
  const small = blobs?.smallBytes ?? 0
  const body =
    errors === undefined ? v8Body(copy, reserve, table, small, 0, references) : v8Body([copy, errors], reserve, table, small, format.FLAG_ERRORS, references)
  snapshot.release()
  if (blobs !== undefined) return withBlobs(body, blobs, reserve, options, transfer)
  if (transfer !== undefined) detachAll(transfer)
  return { body, binaries: none, size: body.length - reserve }
}

/** `body`: reserve, format byte, free bytes for the table, the content, free bytes for the small binaries. */
const withBlobs = (body: Buffer, blobs: BlobWriter, reserve: number, options?: EncodeOptions, transfer?: Transfer): Encoded => {
  body[reserve]! |= format.FLAG_BLOBS
  blobs.write(body, reserve + 1, body.length - reserve - 1 - blobs.tableBytes - blobs.smallBytes)
  const size = body.length - reserve
  if (blobs.largeBytes === 0) {
    if (transfer !== undefined) detachAll(transfer)
    return { body, binaries: none, size }
  }
  const { views, adopt } = blobs.large(options?.copyBinaries === true, transfer)
  // Last: nothing may be detached if the call fails.
  if (transfer !== undefined) adopt(detachAll(transfer))
  const padding = -((options?.at ?? reserve - LENGTH_BYTES) + size) & (format.ALIGNMENT - 1)
  const padded = padding === 0 ? body : Buffer.concat([body], body.length + padding)
  return { body: padded, binaries: views, size: size + padding + blobs.largeBytes }
}

/** Bodies below this size come from Node's Buffer pool. */
const POOLED = 4096

const allocate = (bytes: number): Buffer => (bytes < POOLED ? Buffer.allocUnsafe(bytes) : Buffer.allocUnsafeSlow(bytes))

/** A smaller body is copied, to free the memory that node:v8 has reserved behind it. */
const TRIM_BELOW = 65_536

const v8Body = (copy: unknown, reserve: number, table: number, small: number, flags: number, references: References | undefined): Buffer => {
  const head = reserve + 1 + table
  const written = write(copy, head, references)
  let body = written
  if (small > 0 || written.length < TRIM_BELOW) {
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
  const flags = known === format.PLAIN ? format.FLAG_BACK_REFERENCES : format.FLAG_ERRORS
  if (byte === undefined || known === 0 || (byte & ~(known | flags | format.FLAG_BLOBS)) !== 0 || known === (format.PLAIN | format.BY_V8))
    throw new SerializationError(`a value of unknown format ${byte ?? '(no bytes)'}`)
  const blobs = (byte & format.FLAG_BLOBS) !== 0 ? new BlobReader(bytes, offset + 1) : undefined
  const start = blobs?.start ?? offset + 1
  const end = blobs?.end ?? bytes.length
  if (known === format.PLAIN) return new PlainReader(bytes, start, end, (byte & format.FLAG_BACK_REFERENCES) !== 0, blobs).read()
  return read(bytes.subarray(start, end), blobs, (byte & format.FLAG_ERRORS) !== 0)
}
