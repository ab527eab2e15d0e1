/** The binaries of a value while it is encoded: which bytes are sent, and where each view lies in them. */
import { BLOB_BUFFER, BLOB_ENTRY, BLOB_LARGE, BLOB_RESIZABLE, BLOB_TABLE_HEAD, LARGE } from './format.js'
import type { Reference } from './reference.js'

interface SourceBuffer {
  readonly buffer: ArrayBuffer
  /** The ArrayBuffer itself, and views other than Buffers: they need all of it. */
  whole: Reference[]
  /** Buffers: each needs its own bytes only. They may lie in Node's pool, whose other bytes must not be sent. */
  parts: { to: Reference; start: number; end: number }[]
}

/** Bytes that are sent as one. */
export interface Blob {
  readonly buffer: ArrayBuffer
  readonly start: number
  readonly length: number
  readonly flags: number
  readonly limit: number
}

/** ES2024, not yet in TypeScript's configured library. */
export type Resizable = ArrayBuffer & { readonly resizable?: boolean; readonly maxByteLength: number }

export class BlobWriter {
  #sources: SourceBuffer[] = []
  #byBuffer: Map<ArrayBuffer, SourceBuffer> | undefined
  list: Blob[] = []
  smallBytes = 0
  largeBytes = 0

  #of(buffer: ArrayBuffer): SourceBuffer {
    let source = this.#byBuffer === undefined ? this.#sources.find((each) => each.buffer === buffer) : this.#byBuffer.get(buffer)
    if (source === undefined) {
      source = { buffer, whole: [], parts: [] }
      this.#sources.push(source)
      if (this.#byBuffer !== undefined) this.#byBuffer.set(buffer, source)
      else if (this.#sources.length > 16) this.#byBuffer = new Map(this.#sources.map((each) => [each.buffer, each]))
    }
    return source
  }

  addWhole(to: Reference, buffer: ArrayBuffer): void {
    this.#of(buffer).whole.push(to)
  }

  addPart(to: Reference, buffer: Buffer): void {
    this.#of(buffer.buffer as ArrayBuffer).parts.push({ to, start: buffer.byteOffset, end: buffer.byteOffset + buffer.length })
  }

  /** Decides which bytes are sent. Afterwards every reference has the index of its blob. */
  resolve(): void {
    for (const { buffer, whole, parts } of this.#sources) {
      if (whole.length > 0) {
        const { resizable, maxByteLength } = buffer as Resizable
        const index = this.#add(buffer, 0, buffer.byteLength, resizable === true ? BLOB_RESIZABLE : 0, resizable === true ? maxByteLength : 0)
        for (const to of whole) to.index = index
        for (const { to, start } of parts) {
          to.index = index
          to.offset = start
        }
        continue
      }
      // Buffers that overlap are sent as one blob, and still share their bytes on the other side.
      if (parts.length > 1) parts.sort((a, b) => a.start - b.start)
      for (let i = 0; i < parts.length; ) {
        const { start } = parts[i]!
        let { end } = parts[i]!
        let next = i + 1
        for (; next < parts.length && parts[next]!.start < end; next++) end = Math.max(end, parts[next]!.end)
        const index = this.#add(buffer, start, end - start, BLOB_BUFFER, 0)
        for (; i < next; i++) {
          parts[i]!.to.index = index
          parts[i]!.to.offset = parts[i]!.start - start
        }
      }
    }
  }

  #add(buffer: ArrayBuffer, start: number, length: number, flags: number, limit: number): number {
    if (length > 0xffffffff || limit > 0xffffffff) throw new RangeError('a binary of more than 4 GiB')
    if (length >= LARGE) this.largeBytes += length
    else this.smallBytes += length
    return this.list.push({ buffer, start, length, flags: length >= LARGE ? flags | BLOB_LARGE : flags, limit }) - 1
  }

  get tableBytes(): number {
    return BLOB_TABLE_HEAD + BLOB_ENTRY * this.list.length
  }

  /** Writes the table to `at`, and the small blobs behind the content. */
  write(body: Buffer, at: number, contentBytes: number): void {
    body.writeUInt32LE(contentBytes, at)
    body.writeUInt32LE(this.list.length, at + 4)
    let entry = at + BLOB_TABLE_HEAD
    let small = at + this.tableBytes + contentBytes
    for (const { buffer, start, length, flags, limit } of this.list) {
      body.writeUInt32LE(length, entry)
      body.writeUInt32LE(limit, entry + 4)
      body[entry + 8] = flags
      entry += BLOB_ENTRY
      if ((flags & BLOB_LARGE) !== 0) continue
      if (length > 0) body.set(new Uint8Array(buffer, start, length), small)
      small += length
    }
  }

  /** The large blobs: views on the caller's memory, or copies of it. `adopt` replaces those whose ArrayBuffers were transferred. */
  large(copy: boolean, transfer: readonly ArrayBuffer[] | undefined): { views: Uint8Array[]; adopt: (owned: readonly ArrayBuffer[]) => void } {
    const views: Uint8Array[] = []
    const transferred: { at: number; blob: Blob; from: number }[] = []
    for (const blob of this.list) {
      if ((blob.flags & BLOB_LARGE) === 0) continue
      const view = new Uint8Array(blob.buffer, blob.start, blob.length)
      const from = transfer === undefined ? -1 : transfer.indexOf(blob.buffer)
      if (from >= 0) transferred.push({ at: views.length, blob, from })
      views.push(from < 0 && copy ? copyOf(view) : view)
    }
    return {
      views,
      adopt: (owned) => {
        for (const { at, blob, from } of transferred) views[at] = new Uint8Array(owned[from]!, blob.start, blob.length)
      },
    }
  }
}

/** A copy with memory of its own. Not by `slice()`, which fills the memory with zeroes first. */
export const copyOf = (view: Uint8Array): Buffer => {
  const copy = Buffer.allocUnsafeSlow(view.length)
  copy.set(view)
  return copy
}
