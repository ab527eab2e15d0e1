/**
 * The layout of a frame. No other file of this package knows it.
 *
 * frame  = u32 length of the body, then the body
 * body   = kind u8 | flags u8 | attempt u16 | delivery u32 | job f64 | payload
 *
 * All numbers are little-endian. `delivery` numbers the JOB frames written to one worker (1, 2, 3 …); `job` is the job's
 * submission number in its pool. `delivery` and `attempt` differ on each write, so the head is written anew and
 * the encoded payload is kept. The delivery is in the head, so a worker can accept a job before it decodes it.
 *
 * Functions over numbers, which V8 inlines: no object is made for a frame. `body` is the place where a frame's body begins,
 * `payload` the place where its payload does.
 */

import { readF64, readU16, readU32, writeF64, writeU16, writeU32 } from './little-endian.js'

export const LENGTH_BYTES = 4
/** The fixed part, from the kind to the job's number. */
export const FIXED_BYTES = 16
/** Where the payload of an ordinary frame begins, counted from the start of the frame. */
export const FRAME_HEAD = LENGTH_BYTES + FIXED_BYTES

// Places in the body.
const FLAGS = 1
const ATTEMPT = 2
const DELIVERY = 4
const JOB = 8

export const writeHead = (to: Buffer, at: number, bodyBytes: number, kind: number, flags: number, attempt: number, delivery: number, job: number): void => {
  const body = at + LENGTH_BYTES
  writeU32(to, at, bodyBytes)
  to[body] = kind
  to[body + FLAGS] = flags
  writeU16(to, body + ATTEMPT, attempt)
  writeU32(to, body + DELIVERY, delivery)
  writeF64(to, body + JOB, job)
}

/** The length that precedes a body; unchecked. */
export const bodyBytesAt = (bytes: Buffer, at: number): number => readU32(bytes, at)
export const kindOf = (bytes: Buffer, body: number): number => bytes[body]!
export const flagsOf = (bytes: Buffer, body: number): number => bytes[body + FLAGS]!
/** Adds a flag to a frame that begins at `at`. */
export const addFlag = (to: Buffer, at: number, flag: number): void => {
  to[at + LENGTH_BYTES + FLAGS]! |= flag
}
export const attemptOf = (bytes: Buffer, body: number): number => readU16(bytes, body + ATTEMPT)
export const deliveryOf = (bytes: Buffer, body: number): number => readU32(bytes, body + DELIVERY)
export const jobOf = (bytes: Buffer, body: number): number => readF64(bytes, body + JOB)

/**
 * JOB: its payload is task index u16 | reserved u16 | soft limit ms u32 | hard limit ms u32 (0: none), then a section for the
 * meta (FLAG_META), a section for the delivery (FLAG_DELIVERY), and the arguments.
 */
const TASK = 0
const RESERVED = 2
const SOFT_LIMIT = 4
const HARD_LIMIT = 8
export const JOB_FIXED_BYTES = FIXED_BYTES + 12
/** Where its sections begin, counted from the start of the frame. */
export const JOB_HEAD = LENGTH_BYTES + JOB_FIXED_BYTES

export const writeJobFixed = (to: Buffer, payload: number, task: number, softLimit: number, hardLimit: number): void => {
  writeU16(to, payload + TASK, task)
  writeU16(to, payload + RESERVED, 0)
  writeU32(to, payload + SOFT_LIMIT, softLimit)
  writeU32(to, payload + HARD_LIMIT, hardLimit)
}
export const taskIndexOf = (bytes: Buffer, payload: number): number => readU16(bytes, payload + TASK)
export const softLimitOf = (bytes: Buffer, payload: number): number => readU32(bytes, payload + SOFT_LIMIT)
export const hardLimitOf = (bytes: Buffer, payload: number): number => readU32(bytes, payload + HARD_LIMIT)

/** A section of a JOB: u32 length, then so many bytes. */
export const SECTION_HEAD = 4
/** `section`: SECTION_HEAD free bytes, then its content. */
export const closeSection = (section: Buffer): Buffer => {
  section.writeUInt32LE(section.length - SECTION_HEAD, 0)
  return section
}
/** The place behind the section that begins at `at`. */
export const sectionEnd = (bytes: Buffer, at: number): number => at + SECTION_HEAD + bytes.readUInt32LE(at)

/** READY and END with FLAG_STATS: jobs done u32 (nothing reads it) | resident bytes f64 precede the value. */
export const STATS_BYTES = 12
const STATS_RSS = 4
export const writeStats = (to: Buffer, payload: number, jobsDone: number, rss: number): void => {
  to.writeUInt32LE(jobsDone >>> 0, payload)
  to.writeDoubleLE(rss, payload + STATS_RSS)
}
export const statsRssOf = (bytes: Buffer, payload: number): number => bytes.readDoubleLE(payload + STATS_RSS)

/** READY with FLAG_TIMES: when the job was accepted f64 | when it ended f64 precede the value, behind the stats if there are any; ms on the monotonic clock of the machine. */
export const TIMES_BYTES = 16
const ENDED_AT = 8
export const writeTimes = (to: Buffer, at: number, acceptedAt: number, endedAt: number): void => {
  writeF64(to, at, acceptedAt)
  writeF64(to, at + ENDED_AT, endedAt)
}
export const acceptedAtOf = (bytes: Buffer, at: number): number => readF64(bytes, at)
export const endedAtOf = (bytes: Buffer, at: number): number => readF64(bytes, at + ENDED_AT)

/** PULL: items u32 | bytes u32, the credit added. */
export const PULL_BYTES = 8
const CREDIT_BYTES = 4
export const writeCredit = (to: Buffer, payload: number, items: number, bytes: number): void => {
  to.writeUInt32LE(items, payload)
  to.writeUInt32LE(bytes, payload + CREDIT_BYTES)
}
export const creditItemsOf = (bytes: Buffer, payload: number): number => bytes.readUInt32LE(payload)
export const creditBytesOf = (bytes: Buffer, payload: number): number => bytes.readUInt32LE(payload + CREDIT_BYTES)

/** CALL: its number u32 | bytes of the function's name u16, then the name and the arguments. The numbers count in one job. */
export const CALL_HEAD = 6
const NAME_BYTES = 4
export const MAX_NAME_BYTES = 0xffff
export const writeCallHead = (to: Buffer, payload: number, call: number, nameBytes: number): void => {
  to.writeUInt32LE(call, payload)
  to.writeUInt16LE(nameBytes, payload + NAME_BYTES)
}
export const callNameBytesOf = (bytes: Buffer, payload: number): number => bytes.readUInt16LE(payload + NAME_BYTES)

/** REPLY: the number of the call u32, then the answer. */
export const REPLY_HEAD = 4
export const writeReplyHead = (to: Buffer, payload: number, call: number): void => {
  to.writeUInt32LE(call, payload)
}
/** The number of the call, in CALL and REPLY. */
export const callNumberOf = (bytes: Buffer, payload: number): number => bytes.readUInt32LE(payload)

/** CANCEL: the last delivery written u32 | ms during which synchronous code may be interrupted u32 (0: never), then the reason. */
export const CANCEL_HEAD = 8
const INTERRUPT_FOR = 4
export const writeCancelFixed = (to: Buffer, payload: number, upTo: number, interruptFor: number): void => {
  to.writeUInt32LE(upTo, payload)
  to.writeUInt32LE(interruptFor, payload + INTERRUPT_FOR)
}
export const cancelUpToOf = (bytes: Buffer, payload: number): number => bytes.readUInt32LE(payload)
export const interruptForOf = (bytes: Buffer, payload: number): number => bytes.readUInt32LE(payload + INTERRUPT_FOR)

/** SOFT_LIMIT_REQUEST: the limit in ms u32. */
export const SOFT_LIMIT_REQUEST_BYTES = 4
export const writeRequestedLimit = (to: Buffer, payload: number, limit: number): void => {
  to.writeUInt32LE(limit, payload)
}
export const requestedLimitOf = (bytes: Buffer, payload: number): number => bytes.readUInt32LE(payload)

/**
 * HEARTBEAT: resident bytes f64 | age of the main thread's last turn in ms f64 (0: it turned when it was pinged just now) | CPU time of the
 * process so far in ms f64 | oldest accepted delivery u32 (0: none; nothing reads it).
 */
export const HEARTBEAT_BYTES = 28
const TURN_AGE = 8
const CPU = 16
const OLDEST = 24
export const writeHeartbeat = (to: Buffer, payload: number, rss: number, turnAge: number, cpu: number, oldest: number): void => {
  to.writeDoubleLE(rss, payload)
  to.writeDoubleLE(turnAge, payload + TURN_AGE)
  to.writeDoubleLE(cpu, payload + CPU)
  to.writeUInt32LE(oldest, payload + OLDEST)
}
export const heartbeatRssOf = (bytes: Buffer, payload: number): number => bytes.readDoubleLE(payload)
export const heartbeatCpuOf = (bytes: Buffer, payload: number): number => bytes.readDoubleLE(payload + CPU)
export const heartbeatTurnAgeOf = (bytes: Buffer, payload: number): number => bytes.readDoubleLE(payload + TURN_AGE)
