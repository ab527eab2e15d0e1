import type { Encoded } from '../../wire/codec/index.js'
import { FRAME_HEAD, type Kind, LENGTH_BYTES } from '../../wire/messages.js'

/** Writes all of the chunks before it returns; they may be reused afterwards. */
export type WriteChunks = (chunks: readonly Uint8Array[]) => void

/** What a frame's fixed part says besides its kind and flags. */
export interface FrameOf {
  readonly attempt: number
  readonly delivery: number
  readonly number: number
}

/** Frames up to this size are gathered in one buffer; copying more costs more than a second chunk. */
const SMALL = 8 * 1024
const CAPACITY = 64 * 1024
const FIRST_CAPACITY = 4 * 1024

/** The results pipe's writing end: frames are put, then flushed with one synchronous write. */
export class Output {
  readonly #write: WriteChunks
  #buffer = Buffer.allocUnsafeSlow(FIRST_CAPACITY)
  /** Small frames lie in `#buffer[start..used)`; what lies before them is named by `#chunks`. */
  #start = 0
  #used = 0
  /** A large frame and what was put before it, in order. It waits for the next flush, which brings the ACCEPTED of the next job with it. */
  #chunks: Uint8Array[] = []

  constructor(write: WriteChunks) {
    this.#write = write
  }

  get pending(): boolean {
    return this.#used > 0 || this.#chunks.length > 0
  }

  /** A frame without payload. */
  putHead(kind: Kind, flags: number, of: FrameOf): void {
    this.#room(FRAME_HEAD)
    writeHead(this.#buffer, this.#used, FRAME_HEAD - LENGTH_BYTES, kind, flags, of)
    this.#used += FRAME_HEAD
  }

  /** A frame whose payload was encoded with (at least) FRAME_HEAD bytes of reserve; to be flushed before its binaries can change. */
  put(kind: Kind, flags: number, of: FrameOf, encoded: Encoded): void {
    const { body, binaries } = encoded
    let total = body.length
    for (const binary of binaries) total += binary.byteLength
    writeHead(body, 0, total - LENGTH_BYTES, kind, flags, of)
    if (total > SMALL || binaries.length > 0) {
      // One large frame at a time: what waits is memory.
      if (this.#chunks.length > 0) this.flush()
      this.#seal()
      this.#chunks.push(body, ...binaries)
      return
    }
    this.#room(total)
    this.#buffer.set(body, this.#used)
    this.#used += total
  }

  flush(): void {
    if (this.#chunks.length > 0) {
      this.#seal()
      const chunks = this.#chunks
      this.#chunks = []
      this.#start = 0
      this.#used = 0
      this.#write(chunks)
      return
    }
    if (this.#used === 0) return
    const chunk = this.#buffer.subarray(0, this.#used)
    this.#used = 0
    this.#write([chunk])
  }

  #seal(): void {
    if (this.#start === this.#used) return
    this.#chunks.push(this.#buffer.subarray(this.#start, this.#used))
    this.#start = this.#used
  }

  #room(bytes: number): void {
    if (this.#used + bytes <= this.#buffer.length) return
    if (this.#buffer.length < CAPACITY) {
      const larger = Buffer.allocUnsafeSlow(CAPACITY)
      this.#buffer.copy(larger, 0, 0, this.#used)
      this.#buffer = larger
    }
    if (this.#used + bytes > CAPACITY) this.flush()
  }
}

const writeHead = (to: Buffer, at: number, length: number, kind: Kind, flags: number, of: FrameOf): void => {
  to.writeUInt32LE(length, at)
  to[at + 4] = kind
  to[at + 5] = flags
  to.writeUInt16LE(of.attempt, at + 6)
  to.writeUInt32LE(of.delivery, at + 8)
  to.writeDoubleLE(of.number, at + 12)
}
