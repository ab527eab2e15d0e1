import { FIXED_BYTES, FRAME_HEAD, JOB_FIXED_BYTES, JOB_HEAD, Kind, LENGTH_BYTES } from './messages.js'

/** What the writer asks of a stream. */
export interface ByteSink {
  write(bytes: Uint8Array): boolean
  cork(): void
  uncork(): void
  readonly writableLength: number
}

const STAGING_BYTES = 64 * 1024
/** Enough for a worker that gets one job at a time. */
const FIRST_STAGING_BYTES = 16 * 1024
/** A payload larger than this is handed to the stream as it is, not copied beside its neighbours. */
const COPY_LIMIT = 8 * 1024

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
 * Gathers the frames of one tick for one stream, small ones side by side in one buffer, so that a tick costs one write.
 * `generator` is run by the hub: it writes what has been gathered and yields on backpressure.
 */
export class FrameWriter {
  /** Bytes handed to the stream so far. */
  bytes = 0
  /** Writes so far. */
  writes = 0
  /** Made when something is first written. */
  #staging: Buffer = Buffer.alloc(0)
  #start = 0
  #end = 0
  /** In order: slices of staging buffers and large payloads. What is in `#staging[start..end)` comes after them. */
  #ready: Uint8Array[] = []

  /** Nothing waits to be written. */
  get empty(): boolean {
    return this.#ready.length === 0 && this.#start === this.#end
  }

  /** A JOB frame: its head anew, its parts (meta, body, binaries) as they were encoded. */
  job(head: JobHead, parts: readonly Uint8Array[], size: number): void {
    this.#room(JOB_HEAD)
    const out = this.#staging
    const at = this.#end
    this.#head(at, JOB_FIXED_BYTES + size, Kind.JOB, head.flags, head.attempt, head.delivery, head.job)
    out.writeUInt16LE(head.task, at + FRAME_HEAD)
    out.writeUInt16LE(0, at + FRAME_HEAD + 2)
    out.writeUInt32LE(head.softLimit, at + FRAME_HEAD + 4)
    out.writeUInt32LE(head.hardLimit, at + FRAME_HEAD + 8)
    this.#end = at + JOB_HEAD
    for (const part of parts) this.#payload(part)
  }

  /** Any other frame; `payload` must not change until it is written. */
  frame(kind: Kind, flags: number, delivery: number, job: number, payload?: Uint8Array): void {
    this.#room(FRAME_HEAD)
    this.#head(this.#end, FIXED_BYTES + (payload?.length ?? 0), kind, flags, 0, delivery, job)
    this.#end += FRAME_HEAD
    if (payload !== undefined) this.#payload(payload)
  }

  /** Writes what is gathered; yields 'full' when the stream wants to be drained first, 'idle' when there is nothing left. */
  *generator(stream: ByteSink): Generator<'full' | 'idle', never, undefined> {
    for (;;) {
      while (!this.empty) {
        if (!this.#flush(stream)) yield 'full'
      }
      yield 'idle'
    }
  }

  #head(at: number, length: number, kind: number, flags: number, attempt: number, delivery: number, job: number): void {
    const out = this.#staging
    out.writeUInt32LE(length, at)
    out[at + LENGTH_BYTES] = kind
    out[at + LENGTH_BYTES + 1] = flags
    out.writeUInt16LE(attempt & 0xffff, at + LENGTH_BYTES + 2)
    out.writeUInt32LE(delivery, at + LENGTH_BYTES + 4)
    out.writeDoubleLE(job, at + LENGTH_BYTES + 8)
  }

  #room(bytes: number): void {
    if (this.#end + bytes <= this.#staging.length) return
    this.#seal()
    this.#staging = Buffer.allocUnsafeSlow(this.#staging.length === 0 ? FIRST_STAGING_BYTES : STAGING_BYTES)
    this.#start = 0
    this.#end = 0
  }

  #seal(): void {
    if (this.#start === this.#end) return
    this.#ready.push(this.#staging.subarray(this.#start, this.#end))
    this.#start = this.#end
  }

  #payload(part: Uint8Array): void {
    if (part.length > COPY_LIMIT) {
      this.#seal()
      this.#ready.push(part)
      return
    }
    this.#room(part.length)
    this.#staging.set(part, this.#end)
    this.#end += part.length
  }

  #flush(stream: ByteSink): boolean {
    this.#seal()
    const ready = this.#ready
    this.#ready = []
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
      // A write that was answered at once may have gathered more.
      if (!this.empty) return true
      // All of it is in the kernel, whatever write() said of its high-water mark: the staging buffer is free again.
      this.#start = 0
      this.#end = 0
      return true
    }
    return more
  }
}
