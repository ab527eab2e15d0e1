/** The binaries of a value while it is decoded. */
import { copyOf } from './blob-writer.js'
import { ALIGNMENT, BLOB_BUFFER, BLOB_ENTRY, BLOB_LARGE, BLOB_RESIZABLE, BLOB_TABLE_HEAD, LARGE } from './format.js'
import { KIND_ARRAY_BUFFER, KIND_BUFFER, LENGTH_TRACKING, VIEW_NAMES } from './reference.js'

/** A Buffer of at least one SHARE-th of the message stays in the bytes that were received; a smaller one would keep the rest from being freed. */
const SHARE = 4

type ViewConstructor = new (buffer: ArrayBuffer, offset?: number, length?: number) => ArrayBufferView
const constructors = VIEW_NAMES.map((name) => (globalThis as unknown as Record<string, ViewConstructor | undefined>)[name])

/** From this size on a copy gets memory of its own on every Node: what lies in its pool, of 8 to 64 KiB, cannot be transferred. */
const POOLED = 4096

const damaged = (): never => {
  throw new Error('a damaged table of binaries')
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

interface Blob {
  readonly start: number
  readonly length: number
  readonly limit: number
  readonly flags: number
  /** Made for the first view, then shared by all. */
  memory: ArrayBuffer | Buffer | undefined
  /** The Buffer itself was used as a view: a second view of all of it must be another object. */
  handedOut: boolean
}

export class BlobReader {
  readonly #bytes: Buffer
  readonly #blobs: Blob[] = []
  /** The content lies from `start` to `end`. */
  readonly start: number
  readonly end: number

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    const total = bytes.length
    if (at + BLOB_TABLE_HEAD > total) damaged()
    const contentBytes = bytes.readUInt32LE(at)
    const count = bytes.readUInt32LE(at + 4)
    this.start = at + BLOB_TABLE_HEAD + count * BLOB_ENTRY
    this.end = this.start + contentBytes
    if (this.end > total) damaged()
    let largeBytes = 0
    for (let i = 0, entry = at + BLOB_TABLE_HEAD; i < count; i++, entry += BLOB_ENTRY)
      if ((bytes[entry + 8]! & BLOB_LARGE) !== 0) largeBytes += bytes.readUInt32LE(entry)
    let small = this.end
    let large = total - largeBytes
    for (let i = 0, entry = at + BLOB_TABLE_HEAD; i < count; i++, entry += BLOB_ENTRY) {
      const length = bytes.readUInt32LE(entry)
      const flags = bytes[entry + 8]!
      const isLarge = (flags & BLOB_LARGE) !== 0
      this.#blobs.push({ start: isLarge ? large : small, length, limit: bytes.readUInt32LE(entry + 4), flags, memory: undefined, handedOut: false })
      if (isLarge) large += length
      else small += length
    }
    const padding = total - largeBytes - small
    if (padding < 0 || padding >= ALIGNMENT) damaged()
  }

  /**
   * Whether a Buffer may stay in the bytes that were received. Two of them may not: they would share an ArrayBuffer that they
   * did not share. Nor one that is not aligned: a Float64Array could not be laid over it.
   */
  #canStay(part: Buffer): boolean {
    return this.#blobs.length === 1 && part.length >= LARGE && part.byteOffset % ALIGNMENT === 0 && part.length * SHARE >= part.buffer.byteLength
  }

  #memory(blob: Blob): ArrayBuffer | Buffer {
    if (blob.memory !== undefined) return blob.memory
    const part = this.#bytes.subarray(blob.start, blob.start + blob.length)
    if ((blob.flags & BLOB_BUFFER) !== 0) {
      blob.memory = this.#canStay(part) ? part : part.length < POOLED ? Buffer.from(part) : copyOf(part)
    } else if ((blob.flags & BLOB_RESIZABLE) !== 0) {
      if (blob.limit < blob.length) damaged()
      blob.memory = new (ArrayBuffer as new (length: number, options: { maxByteLength: number }) => ArrayBuffer)(blob.length, { maxByteLength: blob.limit })
      new Uint8Array(blob.memory).set(part)
    } else {
      blob.memory = part.buffer.slice(part.byteOffset, part.byteOffset + part.length) as ArrayBuffer
    }
    return blob.memory
  }

  /** The view (or ArrayBuffer) of a reference. */
  view(kind: number, index: number, offset: number, length: number): object {
    const blob = this.#blobs[index]
    if (blob === undefined || !isCount(offset)) return damaged()
    const memory = this.#memory(blob)
    if (Buffer.isBuffer(memory)) {
      if (kind !== KIND_BUFFER || offset + length > memory.length) damaged()
      if (blob.handedOut || offset > 0 || length < memory.length) return memory.subarray(offset, offset + length)
      blob.handedOut = true
      return memory
    }
    if (kind === KIND_ARRAY_BUFFER) return memory
    if (kind === KIND_BUFFER) return length === LENGTH_TRACKING ? Buffer.from(memory, offset) : Buffer.from(memory, offset, length)
    const View = constructors[kind]
    if (View === undefined) return damaged()
    return length === LENGTH_TRACKING ? new View(memory, offset) : new View(memory, offset, length)
  }
}
