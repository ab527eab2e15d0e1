import type { Hub, HubWritable, Writer } from '../../hub/index.js'
import { encode } from '../../wire/codec/index.js'
import { type CpuProfile, readCpuProfile } from '../../wire/cpu-profile.js'
import { PreforkError, ProtocolError } from '../../wire/errors.js'
import { CANCEL_HEAD, SOFT_LIMIT_REQUEST_BYTES, writeCancelFixed, writeRequestedLimit } from '../../wire/frame.js'
import { FrameWriter } from '../../wire/frame-writer.js'
import { Kind, PROFILE_FAILED, PROFILE_LAST } from '../../wire/messages.js'
import type { JobRecord } from '../jobs/job.js'
import type { AnswerKind } from './message-decoder.js'

/** Frames of the lifeline stay small. */
export const LIFELINE_MAX = 1024 * 1024
/** Bytes of a profile. Workers send less. */
const PROFILE_MAX = 16 * LIFELINE_MAX

interface ProfileRequest {
  readonly worker: number
  readonly number: number
  readonly pieces: Buffer[]
  bytes: number
  resolve(profile: CpuProfile): void
  reject(error: Error): void
}

export const profileError = (worker: number, why: string): PreforkError =>
  new PreforkError('ERR_PREFORK_PROFILE', `There is no profile of worker ${worker}: ${why}`)

/** The requests of the pool to a worker's watchdog, which answers while the main thread is busy. */
export class WorkerLifeline {
  readonly #writer = new FrameWriter()
  readonly #port: Writer
  readonly #stacks = new Map<number, (text: string) => void>()
  #stackRequests = 0
  #profile: ProfileRequest | undefined
  #profileRequests = 0

  constructor(hub: Hub, stream: HubWritable, onEnd: (error?: Error) => void) {
    this.#port = hub.addWriter(stream, this.#writer.generator(stream), onEnd)
  }

  /** Takes back all jobs up to the delivery `upTo` that were not claimed. */
  recall(upTo: number): void {
    this.#frame(Kind.RECALL, upTo)
  }

  /** Cancels one job, and takes back all jobs up to the delivery `upTo` that were not claimed. */
  cancel(job: JobRecord, upTo: number, interruptFor: number, reason: unknown): void {
    const body = reasonBytes(reason)
    writeCancelFixed(body, 0, upTo, interruptFor)
    this.#frame(Kind.CANCEL, job.delivery, body)
  }

  /** Only with `watchdog: false`: the host measures the soft limit, and tells the worker that it has passed. */
  requestSoftLimit(job: JobRecord): void {
    const payload = Buffer.allocUnsafe(SOFT_LIMIT_REQUEST_BYTES)
    writeRequestedLimit(payload, 0, job.limits.softLimit)
    this.#frame(Kind.SOFT_LIMIT_REQUEST, job.delivery, payload)
  }

  /** The stack of the worker's main thread right now. */
  stack(): Promise<string> {
    return new Promise((resolve) => {
      const request = ++this.#stackRequests
      this.#stacks.set(request, resolve)
      this.#frame(Kind.STACK_REQUEST, 0, undefined, request)
    })
  }

  /** @throws {ProtocolError} a profile that was not asked for, or is none */
  answered(kind: AnswerKind, request: number, flags: number, payload: Buffer): void {
    if (kind === Kind.PROFILE) {
      this.#profileReceived(request, flags, payload)
      return
    }
    this.#stacks.get(request)?.(payload.toString('utf8'))
    this.#stacks.delete(request)
  }

  /** What the main thread of this worker, `worker`, executes in the next `ms`. */
  profile(worker: number, ms: number): Promise<CpuProfile> {
    if (this.#profile !== undefined) return Promise.reject(profileError(worker, 'it is being profiled already.'))
    return new Promise((resolve, reject) => {
      const number = ++this.#profileRequests
      this.#profile = { worker, number, pieces: [], bytes: 0, resolve, reject }
      this.#frame(Kind.PROFILE_REQUEST, ms, undefined, number)
    })
  }

  #profileReceived(number: number, flags: number, piece: Buffer): void {
    const request = this.#profile
    if (request?.number !== number) throw new ProtocolError('A PROFILE frame that answers no request.')
    request.bytes += piece.length
    if (request.bytes > PROFILE_MAX) throw new ProtocolError('A profile that is too long.')
    // A copy: the piece is a part of what was read at once.
    request.pieces.push(Buffer.from(piece))
    if ((flags & PROFILE_LAST) === 0) return
    const text = Buffer.concat(request.pieces).toString('utf8')
    this.#profile = undefined
    if ((flags & PROFILE_FAILED) !== 0) {
      request.reject(profileError(request.worker, text))
      return
    }
    const profile = readCpuProfile(text)
    if (profile !== undefined) request.resolve(profile)
    else {
      request.reject(profileError(request.worker, 'its answer is no profile.'))
      throw new ProtocolError('A PROFILE frame with something else.')
    }
  }

  /** The process is gone. */
  stop(): void {
    this.#port.stop()
    for (const resolve of this.#stacks.values()) resolve('the worker is gone')
    this.#stacks.clear()
    this.#profile?.reject(profileError(this.#profile.worker, 'it ended meanwhile.'))
    this.#profile = undefined
  }

  #frame(kind: Kind, delivery: number, payload?: Buffer, job = 0): void {
    this.#writer.frame(kind, 0, delivery, job, payload)
    this.#port.wake()
  }
}

/** CANCEL_HEAD free bytes, then the reason. A reason that cannot be encoded or is too large is left out, because the cancellation itself must be sent. */
const reasonBytes = (reason: unknown): Buffer => {
  try {
    const { body, binaries, size } = encode(reason, CANCEL_HEAD)
    if (size <= LIFELINE_MAX / 2) return Buffer.concat([body, ...binaries])
  } catch {
    // The reason cannot be encoded.
  }
  return Buffer.from(encode(undefined, CANCEL_HEAD).body)
}
