import type { Hub, HubWritable, Writer } from '../../hub/index.js'
import { encode } from '../../wire/codec/index.js'
import { CANCEL_HEAD, SOFT_LIMIT_REQUEST_BYTES, writeCancelFixed, writeRequestedLimit } from '../../wire/frame.js'
import { FrameWriter } from '../../wire/frame-writer.js'
import { Kind } from '../../wire/messages.js'
import type { JobRecord } from '../jobs/job.js'

/** Frames of the lifeline stay small. */
export const LIFELINE_MAX = 1024 * 1024

/** The requests of the pool to a worker's watchdog, which answers while the main thread is busy. */
export class WorkerLifeline {
  readonly #writer = new FrameWriter()
  readonly #port: Writer
  readonly #stacks = new Map<number, (text: string) => void>()
  #stackRequests = 0

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

  stackReceived(request: number, text: string): void {
    this.#stacks.get(request)?.(text)
    this.#stacks.delete(request)
  }

  /** The process is gone. */
  stop(): void {
    this.#port.stop()
    for (const resolve of this.#stacks.values()) resolve('the worker is gone')
    this.#stacks.clear()
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
