import { readFault, readHello, readLogLines, readStartFailed, readWorkerUp } from '../../wire/announcements.js'
import { ProtocolError } from '../../wire/errors.js'
import {
  deliveryOf,
  FIXED_BYTES,
  flagsOf,
  HEARTBEAT_BYTES,
  heartbeatRssOf,
  heartbeatTurnAgeOf,
  jobOf,
  kindOf,
  STATS_BYTES,
  statsRssOf,
} from '../../wire/frame.js'
import { type Fault, FLAG_STATS, type Hello, Kind, LimitStage, type LogLine, NO_STACK, type StartFailed, type WorkerUp } from '../../wire/messages.js'

/** What a worker says, one call per frame. Payloads are handed on as bytes where only the job's life needs them. */
export interface WorkerMessageHandler {
  hello(hello: Hello): void
  up(up: WorkerUp): void
  startFailed(failure: StartFailed): void
  accepted(delivery: number): void
  /** READY and END. `rss` is 0 when it was not measured. */
  answered(delivery: number, flags: number, payload: Buffer, rss: number): void
  item(delivery: number, payload: Buffer): void
  progress(delivery: number, payload: Buffer): void
  log(delivery: number, lines: LogLine[]): void
  fault(fault: Fault): void
  bye(): void
  heartbeat(rss: number, mainAge: number): void
  recalled(claimed: number, upTo: number): void
  stackReceived(question: number, text: string): void
  limit(delivery: number, stage: LimitStage, stack: string): void
  broken(why: string): void
}

/** Payloads of one byte, as nearly all no value is: made once. */
const oneByte = Array.from({ length: 256 }, (_, byte) => Buffer.of(byte))

const payloadOf = (bytes: Buffer, from: number, to: number): Buffer => (to - from === 1 ? oneByte[bytes[from]!]! : bytes.subarray(from, to))

/** Reads the frames of the results pipe. */
export const resultsDecoder =
  (voice: WorkerMessageHandler) =>
  (bytes: Buffer, start: number, end: number): void => {
    const delivery = deliveryOf(bytes, start)
    const payloadAt = start + FIXED_BYTES
    switch (kindOf(bytes, start)) {
      case Kind.ACCEPTED:
        voice.accepted(delivery)
        return
      case Kind.READY:
      case Kind.END: {
        const flags = flagsOf(bytes, start)
        if ((flags & FLAG_STATS) === 0) {
          voice.answered(delivery, flags, payloadOf(bytes, payloadAt, end), 0)
          return
        }
        if (end - payloadAt < STATS_BYTES) throw new ProtocolError('A READY frame that is too short for its flags.')
        voice.answered(delivery, flags, payloadOf(bytes, payloadAt + STATS_BYTES, end), statsRssOf(bytes, payloadAt))
        return
      }
      case Kind.ITEM:
        voice.item(delivery, bytes.subarray(payloadAt, end))
        return
      case Kind.PROGRESS:
        voice.progress(delivery, bytes.subarray(payloadAt, end))
        return
      case Kind.LOG:
        voice.log(delivery, readLogLines(bytes.subarray(payloadAt, end)))
        return
      case Kind.FAULT:
        voice.fault(readFault(bytes.subarray(payloadAt, end)))
        return
      case Kind.HELLO:
        voice.hello(readHello(bytes.subarray(payloadAt, end)))
        return
      case Kind.WORKER_UP:
        voice.up(readWorkerUp(bytes.subarray(payloadAt, end)))
        return
      case Kind.START_FAILED:
        voice.startFailed(readStartFailed(bytes.subarray(payloadAt, end)))
        return
      case Kind.BYE:
        voice.bye()
        return
      default:
        throw new ProtocolError(`A frame of kind ${kindOf(bytes, start)} on the results pipe.`)
    }
  }

/** Reads the frames of the lifeline. */
export const lifelineDecoder =
  (voice: WorkerMessageHandler) =>
  (bytes: Buffer, start: number, end: number): void => {
    const delivery = deliveryOf(bytes, start)
    const payloadAt = start + FIXED_BYTES
    switch (kindOf(bytes, start)) {
      case Kind.HEARTBEAT:
        if (end - payloadAt < HEARTBEAT_BYTES) throw new ProtocolError('A HEARTBEAT frame that is too short.')
        voice.heartbeat(heartbeatRssOf(bytes, payloadAt), heartbeatTurnAgeOf(bytes, payloadAt))
        return
      case Kind.RECALLED:
        voice.recalled(delivery, jobOf(bytes, start))
        return
      case Kind.STACK:
        voice.stackReceived(jobOf(bytes, start), bytes.toString('utf8', payloadAt, end))
        return
      case Kind.LIMIT: {
        const stage = flagsOf(bytes, start) as LimitStage
        if (stage < LimitStage.SOFT || stage > LimitStage.HARD) throw new ProtocolError(`A LIMIT frame of stage ${stage}.`)
        voice.limit(delivery, stage, end > payloadAt ? bytes.toString('utf8', payloadAt, end) : NO_STACK)
        return
      }
      case Kind.BROKEN:
        voice.broken(bytes.toString('utf8', payloadAt, end))
        return
      default:
        throw new ProtocolError(`A frame of kind ${kindOf(bytes, start)} on the lifeline.`)
    }
  }
