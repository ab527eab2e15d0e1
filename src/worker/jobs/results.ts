import { type Encoded, encode } from '../../wire/codec/index.js'
import { PreforkError, SerializationError } from '../../wire/errors.js'
import { FLAG_ERROR, FLAG_INTERRUPTED, FLAG_SOFT, FLAG_STATS, FLAG_UNSENDABLE, FRAME_HEAD, Kind, STATS_BYTES } from '../../wire/messages.js'
import { encodeError } from '../../wire/remote-error/index.js'
import type { Output } from '../io/frame-output.js'
import type { WorkerJob } from './job.js'

/** What a READY (or END) will say. */
export interface Outcome {
  readonly flags: number
  readonly encoded: Encoded
}

/** Turns what became of a job into the payload of its READY. Nothing here throws because of a task's value. */
export class Results {
  readonly #output: Output
  readonly #maxMessageSize: number
  readonly #rss: (() => number) | undefined
  readonly #reserve: number
  #jobsDone = 0

  /** `rss`: measured at each READY; undefined: not at all. */
  constructor(output: Output, maxMessageSize: number, rss: (() => number) | undefined) {
    this.#output = output
    this.#maxMessageSize = maxMessageSize
    this.#rss = rss
    this.#reserve = rss === undefined ? FRAME_HEAD : FRAME_HEAD + STATS_BYTES
  }

  value(value: unknown, job: WorkerJob): Outcome {
    let encoded: Encoded
    try {
      encoded = encode(value, this.#reserve)
    } catch (error) {
      return this.#unsendable(`The result of the task '${job.name}' cannot be sent: ${messageOf(error)}`, error)
    }
    if (this.#fits(encoded)) return { flags: 0, encoded }
    return this.#unsendable(`The result of the task '${job.name}' has ${encoded.size} bytes; maxMessageSize is ${this.#maxMessageSize}.`)
  }

  error(thrown: unknown, job: WorkerJob, unsendable = false): Outcome {
    const encoded = encodeError(thrown, this.#reserve)
    const flags = unsendable ? FLAG_ERROR | FLAG_UNSENDABLE : FLAG_ERROR
    if (this.#fits(encoded)) return { flags, encoded }
    return this.#refused(flags, `The error of the task '${job.name}' has ${encoded.size} bytes; maxMessageSize is ${this.#maxMessageSize}.`)
  }

  stack(stack: string): Outcome {
    const text = Buffer.from(stack)
    return { flags: FLAG_ERROR | FLAG_INTERRUPTED, encoded: { body: Buffer.concat([Buffer.alloc(this.#reserve), text]), binaries: [], size: text.length } }
  }

  /** The error of arguments that cannot be decoded: that job's alone, whatever it was (a RangeError for values nested too deep). */
  undecodable(error: unknown): unknown {
    return error instanceof PreforkError ? error : new SerializationError(`The arguments cannot be decoded: ${messageOf(error)}`, { cause: error })
  }

  /** A payload without statistics. */
  plain(value: unknown): Encoded {
    return encode(value, FRAME_HEAD)
  }

  put(job: WorkerJob, outcome: Outcome): void {
    const { encoded } = outcome
    let { flags } = outcome
    this.#jobsDone += 1
    if (job.softTimedOut) flags |= FLAG_SOFT
    if (this.#rss !== undefined) {
      flags |= FLAG_STATS
      encoded.body.writeUInt32LE(this.#jobsDone >>> 0, FRAME_HEAD)
      encoded.body.writeDoubleLE(this.#rss(), FRAME_HEAD + 4)
    }
    this.#output.put(job.streaming ? Kind.END : Kind.READY, flags, job, encoded)
  }

  #fits(encoded: Encoded): boolean {
    return encoded.size + this.#reserve - FRAME_HEAD <= this.#maxMessageSize
  }

  #unsendable(message: string, cause?: unknown): Outcome {
    return this.#refused(FLAG_ERROR | FLAG_UNSENDABLE, message, cause)
  }

  #refused(flags: number, message: string, cause?: unknown): Outcome {
    const error = new SerializationError(message, cause === undefined ? undefined : { cause })
    return { flags, encoded: encodeError(error, this.#reserve) }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
