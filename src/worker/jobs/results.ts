import { overText } from '../../util/shown-text.js'
import { type Encoded, encode } from '../../wire/codec/index.js'
import { PreforkError, SerializationError } from '../../wire/errors.js'
import { FRAME_HEAD, STATS_BYTES, TIMES_BYTES, writeStats, writeTimes } from '../../wire/frame.js'
import { FLAG_ERROR, FLAG_INTERRUPTED, FLAG_SOFT, FLAG_STATS, FLAG_TIMES, FLAG_UNSENDABLE, Kind } from '../../wire/messages.js'
import { encodeError } from '../../wire/remote-error/index.js'
import type { FrameOutput } from '../io/frame-output.js'
import type { WorkerJob } from './job.js'
import type { AcceptanceRecorder } from './loop-options.js'

const UNSENDABLE = FLAG_ERROR | FLAG_UNSENDABLE

/** What a READY (or END) will hold. */
export interface ResultPayload {
  readonly flags: number
  readonly encoded: Encoded
}

/** Encodes a job's result or error as the payload of its READY. Nothing here throws because of a task's value. */
export class Results {
  readonly #output: FrameOutput
  readonly #maxMessageSize: number
  readonly #rss: (() => number) | undefined
  readonly #statsBytes: number
  readonly #clock: Pick<AcceptanceRecorder, 'now'> | undefined
  #jobsDone = 0

  /** `rss`: measured at each READY; undefined: not at all. `clock`: for jobs whose acceptance was recorded. */
  constructor(output: FrameOutput, maxMessageSize: number, rss: (() => number) | undefined, clock?: Pick<AcceptanceRecorder, 'now'>) {
    this.#output = output
    this.#maxMessageSize = maxMessageSize
    this.#rss = rss
    this.#statsBytes = rss === undefined ? 0 : STATS_BYTES
    this.#clock = clock
  }

  value(value: unknown, job: WorkerJob): ResultPayload {
    let encoded: Encoded
    try {
      encoded = encode(value, this.#reserve(job))
    } catch (error) {
      return this.#refused(job, UNSENDABLE, `The result of the task '${job.name}' cannot be sent: ${messageOf(error)}`, error)
    }
    if (this.#fits(encoded)) return { flags: 0, encoded }
    return this.#refused(job, UNSENDABLE, `The result of the task '${job.name}' has ${overText(encoded.size, 'maxMessageSize', this.#maxMessageSize)}.`)
  }

  error(thrown: unknown, job: WorkerJob, unsendable = false): ResultPayload {
    const encoded = encodeError(thrown, this.#reserve(job))
    const flags = unsendable ? UNSENDABLE : FLAG_ERROR
    if (this.#fits(encoded)) return { flags, encoded }
    return this.#refused(job, flags, `The error of the task '${job.name}' has ${overText(encoded.size, 'maxMessageSize', this.#maxMessageSize)}.`)
  }

  stack(stack: string, job: WorkerJob): ResultPayload {
    const text = Buffer.from(stack)
    return { flags: FLAG_ERROR | FLAG_INTERRUPTED, encoded: { body: Buffer.concat([Buffer.alloc(this.#reserve(job)), text]), binaries: [], size: text.length } }
  }

  /** The error of a job whose arguments cannot be decoded (`error` is a RangeError for values nested too deep). */
  undecodable(error: unknown): unknown {
    return error instanceof PreforkError ? error : new SerializationError(`The arguments cannot be decoded: ${messageOf(error)}`, { cause: error })
  }

  put(job: WorkerJob, payload: ResultPayload): void {
    const { encoded } = payload
    let { flags } = payload
    this.#jobsDone += 1
    if (job.softTimedOut) flags |= FLAG_SOFT
    if (this.#rss !== undefined) {
      flags |= FLAG_STATS
      writeStats(encoded.body, FRAME_HEAD, this.#jobsDone, this.#rss())
    }
    if (job.recorded) {
      flags |= FLAG_TIMES
      writeTimes(encoded.body, FRAME_HEAD + this.#statsBytes, job.recordedAt, this.#clock!.now())
    }
    this.#output.put(job.streaming ? Kind.END : Kind.READY, flags, job, encoded)
  }

  /** What precedes the value. */
  #reserve(job: WorkerJob): number {
    return FRAME_HEAD + this.#statsBytes + (job.recorded ? TIMES_BYTES : 0)
  }

  #fits(encoded: Encoded): boolean {
    return encoded.size <= this.#maxMessageSize
  }

  #refused(job: WorkerJob, flags: number, message: string, cause?: unknown): ResultPayload {
    const error = new SerializationError(message, cause === undefined ? undefined : { cause })
    return { flags, encoded: encodeError(error, this.#reserve(job)) }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
