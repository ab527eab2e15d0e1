import { LENGTH_BYTES } from '../../wire/frame.js'
import { checkedBodyBytes } from '../../wire/frame-reader.js'

/** Gets one whole frame: `bytes` from `start` (where its length stands) to `end`. The memory is never written again. */
export type OnFrame = (bytes: Buffer, start: number, end: number) => void

/** For a chunk of this size, reading its lengths twice costs less than copying its end twice. */
const LARGE = 16 * 1024

/**
 * Cuts the jobs pipe into frames. All state is in fields and is consistent whenever user code runs, because the job loop
 * parses a whole chunk before it calls the first task: a termination of JavaScript can then lose no byte.
 */
export class FrameParser {
  readonly #onFrame: OnFrame
  readonly #maxLength: number
  /** Bytes of a frame that the end of a chunk cut; once its length is known, this has the size of the whole frame. */
  #partial: Buffer = Buffer.alloc(0)
  /** Bytes in `#partial`; 0: no frame is cut. */
  #filled = 0

  constructor(maxLength: number, onFrame: OnFrame) {
    this.#maxLength = maxLength
    this.#onFrame = onFrame
  }

  /** `chunk` may be reused by the caller afterwards. */
  push(chunk: Buffer): void {
    const from = this.#filled > 0 ? this.#complete(chunk) : 0
    // A frame that is cut may be most of a large chunk: it is copied once only, into memory for all of it.
    const to = chunk.length - from < LARGE ? chunk.length : this.#wholeUpTo(chunk, from)
    if (to > from) {
      // One copy for all frames.
      const bytes = Buffer.allocUnsafe(to - from)
      chunk.copy(bytes, 0, from, to)
      let at = 0
      while (bytes.length - at >= LENGTH_BYTES) {
        const end = at + LENGTH_BYTES + this.#length(bytes, at)
        if (end > bytes.length) break
        this.#onFrame(bytes, at, end)
        at = end
      }
      if (at < bytes.length) this.#hold(bytes, at)
    }
    if (to < chunk.length) this.#hold(chunk, to)
  }

  /** The end of the last frame that lies in the chunk as a whole. */
  #wholeUpTo(chunk: Buffer, from: number): number {
    for (let at = from; ; ) {
      if (chunk.length - at < LENGTH_BYTES) return at
      const end = at + LENGTH_BYTES + this.#length(chunk, at)
      if (end > chunk.length) return at
      at = end
    }
  }

  /** Fills the cut frame from the start of the chunk; returns how many bytes that took. */
  #complete(chunk: Buffer): number {
    let at = 0
    if (this.#filled < LENGTH_BYTES) {
      at = this.#fill(chunk, at)
      if (this.#filled < LENGTH_BYTES) return at
      const header = this.#partial
      this.#partial = allocate(LENGTH_BYTES + this.#length(header, 0))
      header.copy(this.#partial, 0, 0, LENGTH_BYTES)
    }
    at = this.#fill(chunk, at)
    if (this.#filled === this.#partial.length) {
      const frame = this.#partial
      this.#filled = 0
      this.#onFrame(frame, 0, frame.length)
    }
    return at
  }

  #fill(chunk: Buffer, at: number): number {
    const took = chunk.copy(this.#partial, this.#filled, at)
    this.#filled += took
    return at + took
  }

  #hold(bytes: Buffer, at: number): void {
    this.#partial = allocate(bytes.length - at < LENGTH_BYTES ? LENGTH_BYTES : LENGTH_BYTES + this.#length(bytes, at))
    this.#filled = bytes.copy(this.#partial, 0, at)
  }

  #length(bytes: Buffer, at: number): number {
    return checkedBodyBytes(bytes, at, this.#maxLength)
  }
}

/** Memory for a frame whose body begins at a multiple of 8, so that its large binaries are aligned. */
const allocate = (bytes: number): Buffer => Buffer.allocUnsafeSlow(8 - LENGTH_BYTES + bytes).subarray(8 - LENGTH_BYTES)
