import { Socket } from 'node:net'
import * as frame from '../../wire/frame.js'
import { frameReader } from '../../wire/frame-reader.js'
import { FD_LIFELINE, Kind, PROFILE_FAILED, PROFILE_LAST } from '../../wire/messages.js'

/** The host's messages on the lifeline. */
export interface LifelineEvents {
  /** `upTo`: the last delivery written. `interruptFor`: ms during which its synchronous code may be interrupted; 0: never. */
  onCancel(delivery: number, upTo: number, interruptFor: number, reason: Uint8Array): void
  onRecall(upTo: number): void
  onStackRequest(request: number): void
  onProfileRequest(request: number, ms: number): void
  /** Only with `watchdog: false`. */
  onSoftLimitRequest(delivery: number, limit: number): void
  /** The host is gone. */
  onEnd(): void
}

/** No HEARTBEAT is sent while more bytes than this are unsent: a host that does not read must not fill this process's memory. */
const UNREAD_LIMIT = 64 * 1024

/** Bytes of a profile in one message: what is sent meanwhile, such as a RECALLED, waits for no more than this. */
const PROFILE_PIECE = 32 * 1024

/** The reason in BROKEN. */
export const resultsLostText = (error: Error): string => `its results pipe was closed or damaged in the worker (${error.message}).`

/**
 * Kills this worker at once, from any thread and whatever the main thread is doing; with `tree` also what its tasks have
 * spawned (the worker leads its own process group).
 */
export const killProcess = (tree: boolean): void => {
  if (tree) {
    try {
      process.kill(-process.pid, 'SIGKILL')
      return
    } catch {
      // It leads no group, for example when it was started by hand.
    }
  }
  process.kill(process.pid, 'SIGKILL')
}

/** CPU time that this process has used so far, user and system, of all threads, ms (getrusage(2)). Processes that a task started are not included. */
const cpuTime = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** The worker's end of the lifeline. Exactly one thread creates it; nothing else reads or writes the descriptor. */
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
    // A frame that cannot be read is treated as the end: what is on the other side is not this worker's host.
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
    const payload = Buffer.alloc(frame.HEARTBEAT_BYTES)
    frame.writeHeartbeat(payload, 0, rss, turnAge, cpuTime(), oldest)
    this.#send(Kind.HEARTBEAT, 0, 0, 0, payload)
  }

  recalled(lastClaimed: number, upTo: number): void {
    this.#send(Kind.RECALLED, 0, lastClaimed, upTo)
  }

  stack(request: number, text: string): void {
    this.#send(Kind.STACK, 0, 0, request, Buffer.from(text))
  }

  /** In pieces, each sent when the one before it is in the kernel. */
  profile(request: number, json: Buffer): void {
    const piece = json.subarray(0, PROFILE_PIECE)
    const rest = json.subarray(PROFILE_PIECE)
    const next = rest.length === 0 ? undefined : () => this.profile(request, rest)
    this.#send(Kind.PROFILE, rest.length === 0 ? PROFILE_LAST : 0, 0, request, piece, next)
  }

  profileFailed(request: number, why: string): void {
    this.#send(Kind.PROFILE, PROFILE_LAST | PROFILE_FAILED, 0, request, Buffer.from(why))
  }

  limit(stage: number, delivery: number, lastClaimed: number, stack: string): void {
    this.#send(Kind.LIMIT, stage, delivery, lastClaimed, Buffer.from(stack))
  }

  /**
   * The host reads this message and kills the process. The process does not exit by itself: a failed write would make the host
   * stop reading, and it would lose the message.
   */
  broken(why: string): void {
    this.#send(Kind.BROKEN, 0, 0, 0, Buffer.from(why))
  }

  #send(kind: Kind, flags: number, delivery: number, job: number, payload: Uint8Array = new Uint8Array(0), written?: () => void): void {
    if (this.#ended) return
    const bytes = Buffer.alloc(frame.FRAME_HEAD + payload.length)
    frame.writeHead(bytes, 0, frame.FIXED_BYTES + payload.length, kind, flags, 0, delivery, job)
    bytes.set(payload, frame.FRAME_HEAD)
    this.#socket.write(bytes, written)
  }

  #frame(events: LifelineEvents, bytes: Buffer, start: number, end: number): void {
    const delivery = frame.deliveryOf(bytes, start)
    const payload = start + frame.FIXED_BYTES
    switch (frame.kindOf(bytes, start)) {
      case Kind.CANCEL:
        events.onCancel(delivery, frame.cancelUpToOf(bytes, payload), frame.interruptForOf(bytes, payload), bytes.subarray(payload + frame.CANCEL_HEAD, end))
        break
      case Kind.RECALL:
        events.onRecall(delivery)
        break
      case Kind.STACK_REQUEST:
        events.onStackRequest(frame.jobOf(bytes, start))
        break
      case Kind.PROFILE_REQUEST:
        events.onProfileRequest(frame.jobOf(bytes, start), delivery)
        break
      case Kind.SOFT_LIMIT_REQUEST:
        events.onSoftLimitRequest(delivery, frame.requestedLimitOf(bytes, payload))
        break
    }
  }
}
