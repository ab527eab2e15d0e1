import { FLAG_PLACED, PLACE_BYTES } from './arena/place.js'
import type { PlaceWriter } from './arena/place-writer.js'
import { addFlag, FIXED_BYTES, FRAME_HEAD, JOB_FIXED_BYTES, JOB_HEAD, writeHead, writeJobFixed } from './frame.js'
import { Kind } from './messages.js'

/** What the writer needs of a stream. */
export interface ByteSink {
  write(bytes: Uint8Array): boolean
  cork(): void
  uncork(): void
  readonly writableLength: number
}

const STAGING_BYTES = 64 * 1024
/** The first buffer: enough for a worker that gets one job at a time. */
const FIRST_STAGING_BYTES = 16 * 1024
/** A larger payload is written as it is, and not copied into the staging buffer. */
const COPY_LIMIT = 8 * 1024

/** Frames that go before everything else that waits. They are made when the stream takes more, some 64 KiB at a time. */
export interface UrgentFrames {
  /** The bytes of whole frames, which must not change until they are written; undefined: there are no more. */
  next(): readonly Uint8Array[] | undefined
}

export interface JobHead {
  delivery: number
  job: number
  attempt: number
  flags: number
  /** Index of the task in the worker's own table. */
  task: number
  /** ms, 0 for none. */
  softLimit: number
  hardLimit: number
}

/**
 * Gathers the frames of one tick for one stream, small ones in one buffer, so that a tick costs one write. The hub runs
 * `generator`, which writes what has been gathered and yields on backpressure.
 */
export class FrameWriter {
  /** Bytes handed to the stream so far, and those written by place. */
  bytes = 0
  writes = 0
  /** Allocated at the first frame. */
  #staging: Buffer = Buffer.alloc(0)
  #start = 0
  #end = 0
  /** Slices of staging buffers and large payloads, in order. `#staging[start..end)` comes after them. */
  #ready: Uint8Array[] = []
  /** The last JOB frame is gathered and not yet written. */
  jobGathered = false
  /** Where it begins. */
  #jobAt = 0
  #jobIn = this.#staging
  /** Where large payloads are put instead. Undefined: the reader has no such memory. */
  places: PlaceWriter | undefined
  readonly #urgent: UrgentFrames | undefined
  /** What was taken from `#urgent`. */
  #first: Uint8Array[] = []

  constructor(urgent?: UrgentFrames) {
    this.#urgent = urgent
  }

  /** Whether nothing waits to be written. */
  get empty(): boolean {
    return this.#ready.length === 0 && this.#start === this.#end
  }

  /** Adds a JOB frame: a new head, and its parts (sections, arguments, binaries) as they were encoded. True: they went by place. */
  job(head: JobHead, parts: readonly Uint8Array[], size: number): boolean {
    const placed = this.places?.write(parts, size, head.delivery) === true
    this.#room(JOB_HEAD + PLACE_BYTES)
    const at = this.#end
    this.jobGathered = true
    this.#jobAt = at
    this.#jobIn = this.#staging
    const flags = placed ? head.flags | FLAG_PLACED : head.flags
    writeHead(this.#staging, at, JOB_FIXED_BYTES + (placed ? PLACE_BYTES : size), Kind.JOB, flags, head.attempt, head.delivery, head.job)
    writeJobFixed(this.#staging, at + FRAME_HEAD, head.task, head.softLimit, head.hardLimit)
    this.#end = at + JOB_HEAD
    if (!placed) {
      for (const part of parts) this.#payload(part)
      return false
    }
    this.bytes += size
    this.places!.describe(this.#staging, this.#end)
    this.#end += PLACE_BYTES
    return true
  }

  /** Adds a flag to the last JOB frame. */
  flagJob(flag: number): void {
    addFlag(this.#jobIn, this.#jobAt, flag)
  }

  /** Adds any other frame; `payload` must not change until it is written. */
  frame(kind: Kind, flags: number, delivery: number, job: number, payload?: Uint8Array): void {
    this.#room(FRAME_HEAD)
    writeHead(this.#staging, this.#end, FIXED_BYTES + (payload?.length ?? 0), kind, flags, 0, delivery, job)
    this.#end += FRAME_HEAD
    if (payload !== undefined) this.#payload(payload)
  }

  /** Writes what has been gathered; yields 'full' when the stream's drain event must come first, 'idle' when nothing is left. */
  *generator(stream: ByteSink): Generator<'full' | 'idle', never, undefined> {
    for (;;) {
      while (this.#takeUrgent() || !this.empty) {
        if (!this.#flush(stream)) yield 'full'
      }
      yield 'idle'
    }
  }

  /** True: there are urgent frames to write. */
  #takeUrgent(): boolean {
    let bytes = 0
    for (let frames = this.#urgent?.next(); frames !== undefined; frames = bytes < STAGING_BYTES ? this.#urgent?.next() : undefined) {
      for (const part of frames) {
        bytes += part.length
        this.#first.push(part)
      }
    }
    return bytes > 0
  }

  #room(bytes: number): void {
    if (this.#end + bytes <= this.#staging.length) return
    this.#endSlice()
    this.#staging = Buffer.allocUnsafeSlow(this.#staging.length === 0 ? FIRST_STAGING_BYTES : STAGING_BYTES)
    this.#start = 0
    this.#end = 0
  }

  #endSlice(): void {
    if (this.#start === this.#end) return
    this.#ready.push(this.#staging.subarray(this.#start, this.#end))
    this.#start = this.#end
  }

  #payload(part: Uint8Array): void {
    if (part.length > COPY_LIMIT) {
      this.#endSlice()
      this.#ready.push(part)
      return
    }
    this.#room(part.length)
    this.#staging.set(part, this.#end)
    this.#end += part.length
  }

  #flush(stream: ByteSink): boolean {
    this.jobGathered = false
    this.#endSlice()
    let ready = this.#ready
    this.#ready = []
    if (this.#first.length > 0) {
      ready = [...this.#first, ...ready]
      this.#first = []
    }
    this.writes++
    let more = true
    if (ready.length === 1) {
      this.bytes += ready[0]!.length
      more = stream.write(ready[0]!)
    } else {
      stream.cork()
      for (const part of ready) {
        this.bytes += part.length
        more = stream.write(part)
      }
      stream.uncork()
    }
    if (stream.writableLength === 0) {
      // A write may have called back at once, and that may have gathered more.
      if (!this.empty) return true
      // All of it is in the kernel, whatever write() returned: the staging buffer is free again.
      this.#start = 0
      this.#end = 0
      return true
    }
    return more
  }
}
