import { FLAG_PLACED, PLACE_BYTES } from '../../wire/arena/place.js'
import type { Encoded } from '../../wire/codec/index.js'
import { FIXED_BYTES, FRAME_HEAD, LENGTH_BYTES, writeHead } from '../../wire/frame.js'
import type { Kind } from '../../wire/messages.js'
import type { ResultPlaces } from './places.js'

/** Writes all of the chunks before it returns; they may be reused afterwards. */
export type WriteChunks = (chunks: readonly Uint8Array[]) => void

/** The job that a frame is about: what its fixed part says of it. */
export interface FrameJob {
  readonly attempt: number
  readonly delivery: number
  readonly number: number
}

/** For frames that are about no job. */
export const NO_JOB: FrameJob = { attempt: 0, delivery: 0, number: 0 }

/** Frames up to this size are gathered in one buffer; copying a larger one costs more than a second chunk. */
const SMALL = 8 * 1024
const CAPACITY = 64 * 1024
const FIRST_CAPACITY = 4 * 1024

/** Gathers frames for the results pipe; `flush` hands them over in one synchronous write. */
export class FrameOutput {
  readonly #write: WriteChunks
  readonly #places: ResultPlaces | undefined
  readonly #placedFrom: number
  #buffer = Buffer.allocUnsafeSlow(FIRST_CAPACITY)
  /** Small frames lie in `#buffer[start..used)`; `#chunks` refers to what lies before them. */
  #start = 0
  #used = 0
  /** A large frame and what was put before it, in order. It waits for the next flush, which also writes the ACCEPTED of the next job. */
  #chunks: Uint8Array[] = []

  /** `places`: where large payloads of jobs are put instead. */
  constructor(write: WriteChunks, places?: ResultPlaces) {
    this.#write = write
    this.#places = places
    this.#placedFrom = places?.from ?? Number.POSITIVE_INFINITY
  }

  /** Adds a frame without payload. */
  putHead(kind: Kind, flags: number, job: FrameJob): void {
    this.#reserve(FRAME_HEAD)
    writeHead(this.#buffer, this.#used, FIXED_BYTES, kind, flags, job.attempt, job.delivery, job.number)
    this.#used += FRAME_HEAD
  }

  /** Adds a frame whose payload was encoded with (at least) FRAME_HEAD bytes of reserve. It must be flushed before its binaries can change. */
  put(kind: Kind, flags: number, job: FrameJob, encoded: Encoded): void {
    const { body, binaries } = encoded
    let total = body.length
    for (const binary of binaries) total += binary.byteLength
    if (total >= this.#placedFrom && this.#putByPlace(kind, flags, job, encoded, total)) return
    writeHead(body, 0, total - LENGTH_BYTES, kind, flags, job.attempt, job.delivery, job.number)
    if (total > SMALL || binaries.length > 0) {
      // One large frame at a time: what waits takes memory.
      if (this.#chunks.length > 0) this.flush()
      this.#endSlice()
      this.#chunks.push(body)
      // Not spread: a value may have more Buffers than a call takes arguments.
      for (const binary of binaries) this.#chunks.push(binary)
      return
    }
    this.#reserve(total)
    this.#buffer.set(body, this.#used)
    this.#used += total
  }

  /** Only frames of a job go by place, before it has settled: a host whose worker runs no job truncates the file. */
  #putByPlace(kind: Kind, flags: number, job: FrameJob, { body, binaries }: Encoded, total: number): boolean {
    const places = this.#places
    if (places === undefined || job.delivery === 0) return false
    if (!places.write([body.subarray(FRAME_HEAD), ...binaries], total - FRAME_HEAD)) return false
    this.#reserve(FRAME_HEAD + PLACE_BYTES)
    writeHead(this.#buffer, this.#used, FIXED_BYTES + PLACE_BYTES, kind, flags | FLAG_PLACED, job.attempt, job.delivery, job.number)
    places.describe(this.#buffer, this.#used + FRAME_HEAD)
    this.#used += FRAME_HEAD + PLACE_BYTES
    return true
  }

  flush(): void {
    if (this.#chunks.length > 0) {
      this.#endSlice()
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

  #endSlice(): void {
    if (this.#start === this.#used) return
    this.#chunks.push(this.#buffer.subarray(this.#start, this.#used))
    this.#start = this.#used
  }

  #reserve(bytes: number): void {
    if (this.#used + bytes <= this.#buffer.length) return
    if (this.#buffer.length < CAPACITY) {
      const larger = Buffer.allocUnsafeSlow(CAPACITY)
      this.#buffer.copy(larger, 0, 0, this.#used)
      this.#buffer = larger
    }
    if (this.#used + bytes > CAPACITY) this.flush()
  }
}
