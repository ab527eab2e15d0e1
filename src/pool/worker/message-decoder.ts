import { readFault, readHello, readLoaded, readLogLines, readStartFailed, readWorkerUp } from '../../wire/announcements.js'
import { ProtocolError } from '../../wire/errors.js'
import {
  acceptedAtOf,
  deliveryOf,
  endedAtOf,
  FIXED_BYTES,
  flagsOf,
  HEARTBEAT_BYTES,
  heartbeatCpuOf,
  heartbeatRssOf,
  heartbeatTurnAgeOf,
  jobOf,
  kindOf,
  STATS_BYTES,
  statsRssOf,
  TIMES_BYTES,
} from '../../wire/frame.js'
import {
  type Fault,
  FLAG_STATS,
  FLAG_TIMES,
  type Hello,
  Kind,
  LimitStage,
  type LogLine,
  NO_STACK,
  type StartFailed,
  type WorkerUp,
} from '../../wire/messages.js'
import { reportToWatcher } from './launch/watch-mode.js'

/** The messages of a running job before its end. */
export type SentKind = typeof Kind.ITEM | typeof Kind.PROGRESS | typeof Kind.CALL

/** The answers of the watchdog to a request of the host. */
export type AnswerKind = typeof Kind.STACK | typeof Kind.PROFILE

/** Takes the messages of one worker: one call for each frame. Payloads stay bytes where only some receivers decode them. */
export interface WorkerMessageHandler {
  hello(hello: Hello): void
  up(up: WorkerUp): void
  startFailed(failure: StartFailed): void
  accepted(delivery: number): void
  /** READY and END. `rss`: 0 when it was not measured. The times: ms on the monotonic clock of the machine, 0 for a job whose ACCEPTED was sent. */
  answered(delivery: number, flags: number, payload: Buffer, rss: number, acceptedAt: number, endedAt: number): void
  sent(delivery: number, kind: SentKind, payload: Buffer): void
  log(delivery: number, lines: LogLine[]): void
  fault(fault: Fault): void
  bye(): void
  heartbeat(rss: number, mainAge: number, cpu: number): void
  recalled(claimed: number, upTo: number): void
  /** STACK and PROFILE. */
  requestAnswered(kind: AnswerKind, request: number, flags: number, payload: Buffer): void
  limit(delivery: number, stage: LimitStage, stack: string): void
  broken(why: string): void
}

/** Payloads of one byte, such as an encoded `undefined`: made once. */
const oneByte = Array.from({ length: 256 }, (_, byte) => Buffer.of(byte))

const payloadOf = (bytes: Buffer, from: number, to: number): Buffer => (to - from === 1 ? oneByte[bytes[from]!]! : bytes.subarray(from, to))

/** Reads the frames of the results pipe. */
export const resultsDecoder =
  (handler: WorkerMessageHandler) =>
  (bytes: Buffer, start: number, end: number): void => {
    const delivery = deliveryOf(bytes, start)
    const payloadAt = start + FIXED_BYTES
    switch (kindOf(bytes, start)) {
      case Kind.ACCEPTED:
        handler.accepted(delivery)
        return
      case Kind.READY:
      case Kind.END: {
        const flags = flagsOf(bytes, start)
        if ((flags & (FLAG_STATS | FLAG_TIMES)) === 0) {
          handler.answered(delivery, flags, payloadOf(bytes, payloadAt, end), 0, 0, 0)
          return
        }
        const timesAt = payloadAt + ((flags & FLAG_STATS) === 0 ? 0 : STATS_BYTES)
        const timed = (flags & FLAG_TIMES) !== 0
        const valueAt = timed ? timesAt + TIMES_BYTES : timesAt
        if (valueAt > end) throw new ProtocolError('A READY frame that is too short for its flags.')
        const rss = timesAt === payloadAt ? 0 : statsRssOf(bytes, payloadAt)
        handler.answered(delivery, flags, payloadOf(bytes, valueAt, end), rss, timed ? acceptedAtOf(bytes, timesAt) : 0, timed ? endedAtOf(bytes, timesAt) : 0)
        return
      }
      case Kind.ITEM:
      case Kind.PROGRESS:
      case Kind.CALL:
        handler.sent(delivery, kindOf(bytes, start) as SentKind, bytes.subarray(payloadAt, end))
        return
      case Kind.LOG:
        handler.log(delivery, readLogLines(bytes.subarray(payloadAt, end)))
        return
      case Kind.FAULT:
        handler.fault(readFault(bytes.subarray(payloadAt, end)))
        return
      case Kind.LOADED:
        // It is about no worker and no job: the watcher of the host takes it.
        reportToWatcher([readLoaded(bytes.subarray(payloadAt, end))])
        return
      case Kind.HELLO:
        handler.hello(readHello(bytes.subarray(payloadAt, end)))
        return
      case Kind.WORKER_UP:
        handler.up(readWorkerUp(bytes.subarray(payloadAt, end)))
        return
      case Kind.START_FAILED:
        handler.startFailed(readStartFailed(bytes.subarray(payloadAt, end)))
        return
      case Kind.BYE:
        handler.bye()
        return
      default:
        throw new ProtocolError(`A frame of kind ${kindOf(bytes, start)} on the results pipe.`)
    }
  }

/** Reads the frames of the lifeline. */
export const lifelineDecoder =
  (handler: WorkerMessageHandler) =>
  (bytes: Buffer, start: number, end: number): void => {
    const delivery = deliveryOf(bytes, start)
    const payloadAt = start + FIXED_BYTES
    switch (kindOf(bytes, start)) {
      case Kind.HEARTBEAT:
        if (end - payloadAt < HEARTBEAT_BYTES) throw new ProtocolError('A HEARTBEAT frame that is too short.')
        if (!(heartbeatCpuOf(bytes, payloadAt) < Number.POSITIVE_INFINITY)) throw new ProtocolError('A HEARTBEAT frame with a CPU time that is no number.')
        handler.heartbeat(heartbeatRssOf(bytes, payloadAt), heartbeatTurnAgeOf(bytes, payloadAt), heartbeatCpuOf(bytes, payloadAt))
        return
      case Kind.RECALLED:
        handler.recalled(delivery, jobOf(bytes, start))
        return
      case Kind.STACK:
      case Kind.PROFILE:
        handler.requestAnswered(kindOf(bytes, start) as AnswerKind, jobOf(bytes, start), flagsOf(bytes, start), bytes.subarray(payloadAt, end))
        return
      case Kind.LIMIT: {
        const stage = flagsOf(bytes, start) as LimitStage
        if (stage < LimitStage.SOFT || stage > LimitStage.HARD) throw new ProtocolError(`A LIMIT frame of stage ${stage}.`)
        handler.limit(delivery, stage, end > payloadAt ? bytes.toString('utf8', payloadAt, end) : NO_STACK)
        return
      }
      case Kind.BROKEN:
        handler.broken(bytes.toString('utf8', payloadAt, end))
        return
      default:
        throw new ProtocolError(`A frame of kind ${kindOf(bytes, start)} on the lifeline.`)
    }
  }
