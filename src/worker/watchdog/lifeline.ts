import { Socket } from 'node:net'
import { frameReader } from '../../wire/frame-reader.js'
import { FD_LIFELINE, FIXED_BYTES, FRAME_HEAD, HEARTBEAT_BYTES, Kind, LENGTH_BYTES } from '../../wire/messages.js'

/** What comes over the lifeline from the host. */
export interface LifelineEvents {
  /** `upTo`: the last delivery written. */
  onCancel(delivery: number, upTo: number, reason: Uint8Array): void
  onRecall(upTo: number): void
  onStackAsk(question: number): void
  onPing(): void
  /** Only with `watchdog: false`. */
  onSoftAsk(delivery: number, limit: number): void
  /** The host is gone. */
  onEnd(): void
}

/** A host that does not read must not fill this process's memory: beyond this no HEARTBEAT is added. */
const UNREAD_LIMIT = 64 * 1024

/** What the host is told when this process cannot write its results any more. */
export const resultsLostText = (error: Error): string => `its results pipe was closed or damaged in the worker (${error.message}).`

/** The worker's end of the lifeline. Whoever makes it is the only one who reads and writes the descriptor. */
export class Lifeline {
  readonly #socket: Socket
  #ended = false

  constructor(events: LifelineEvents, maxMessageSize: number, fd = FD_LIFELINE) {
    this.#socket = new Socket({ fd, readable: true, writable: true })
    const end = () => {
      if (this.#ended) return
      this.#ended = true
      events.onEnd()
    }
    const reader = frameReader((bytes, start, endAt) => this.#frame(events, bytes, start, endAt), maxMessageSize)
    reader.next()
    // A frame that cannot be read means that the host is not who it should be: the same as its end.
    this.#socket.on('data', (chunk: Buffer) => {
      try {
        reader.next(chunk)
      } catch {
        end()
      }
    })
    this.#socket.on('end', end)
    this.#socket.on('error', end)
    this.#socket.on('close', end)
  }

  /** Lets the process end although the lifeline is open. */
  unref(): void {
    this.#socket.unref()
  }

  heartbeat(rss: number, turnAge: number, oldest: number): void {
    if (this.#socket.writableLength > UNREAD_LIMIT) return
    const payload = Buffer.alloc(HEARTBEAT_BYTES)
    payload.writeDoubleLE(rss, 0)
    payload.writeDoubleLE(turnAge, 8)
    payload.writeUInt32LE(oldest, 16)
    this.#send(Kind.HEARTBEAT, 0, 0, 0, payload)
  }

  recalled(lastClaimed: number, upTo: number): void {
    this.#send(Kind.RECALLED, 0, lastClaimed, upTo)
  }

  stack(question: number, text: string): void {
    this.#send(Kind.STACK, 0, 0, question, Buffer.from(text))
  }

  limit(stage: number, delivery: number, lastClaimed: number, stack: string): void {
    this.#send(Kind.LIMIT, stage, delivery, lastClaimed, Buffer.from(stack))
  }

  /** The host ends this process when it has read it. To leave at once could lose it: what the host writes meanwhile fails, and ends its reading too. */
  broken(why: string): void {
    this.#send(Kind.BROKEN, 0, 0, 0, Buffer.from(why))
  }

  #send(kind: Kind, flags: number, delivery: number, job: number, payload: Uint8Array = new Uint8Array(0)): void {
    if (this.#ended) return
    const frame = Buffer.alloc(FRAME_HEAD + payload.length)
    frame.writeUInt32LE(FIXED_BYTES + payload.length, 0)
    frame[LENGTH_BYTES] = kind
    frame[LENGTH_BYTES + 1] = flags
    frame.writeUInt32LE(delivery, LENGTH_BYTES + 4)
    frame.writeDoubleLE(job, LENGTH_BYTES + 8)
    frame.set(payload, FRAME_HEAD)
    this.#socket.write(frame)
  }

  #frame(events: LifelineEvents, bytes: Buffer, start: number, end: number): void {
    const delivery = bytes.readUInt32LE(start + 4)
    const payload = start + FIXED_BYTES
    switch (bytes[start]) {
      case Kind.CANCEL:
        events.onCancel(delivery, bytes.readUInt32LE(payload), bytes.subarray(payload + 4, end))
        break
      case Kind.RECALL:
        events.onRecall(delivery)
        break
      case Kind.STACK_ASK:
        events.onStackAsk(bytes.readDoubleLE(start + 8))
        break
      case Kind.SOFT_ASK:
        events.onSoftAsk(delivery, bytes.readUInt32LE(payload))
        break
      case Kind.PING:
        events.onPing()
        break
    }
  }
}
