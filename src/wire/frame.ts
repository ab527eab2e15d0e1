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
  to.writeUInt32LE(bodyBytes, at)
  to[body] = kind
  to[body + FLAGS] = flags
  to.writeUInt16LE(attempt & 0xffff, body + ATTEMPT)
  to.writeUInt32LE(delivery, body + DELIVERY)
  to.writeDoubleLE(job, body + JOB)
}

/** The length that precedes a body; unchecked. */
export const bodyBytesAt = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at)
export const kindOf = (bytes: Buffer, body: number): number => bytes[body]!
export const flagsOf = (bytes: Buffer, body: number): number => bytes[body + FLAGS]!
export const attemptOf = (bytes: Buffer, body: number): number => bytes.readUInt16LE(body + ATTEMPT)
export const deliveryOf = (bytes: Buffer, body: number): number => bytes.readUInt32LE(body + DELIVERY)
export const jobOf = (bytes: Buffer, body: number): number => bytes.readDoubleLE(body + JOB)

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
  to.writeUInt16LE(task, payload + TASK)
  to.writeUInt16LE(0, payload + RESERVED)
  to.writeUInt32LE(softLimit, payload + SOFT_LIMIT)
  to.writeUInt32LE(hardLimit, payload + HARD_LIMIT)
}
export const taskIndexOf = (bytes: Buffer, payload: number): number => bytes.readUInt16LE(payload + TASK)
export const softLimitOf = (bytes: Buffer, payload: number): number => bytes.readUInt32LE(payload + SOFT_LIMIT)
export const hardLimitOf = (bytes: Buffer, payload: number): number => bytes.readUInt32LE(payload + HARD_LIMIT)

/** A section of a JOB: u32 length, then so many bytes. */
export const SECTION_HEAD = 4
/** `section`: SECTION_HEAD free bytes, then its content. */
export const closeSection = (section: Buffer): Buffer => {
  section.writeUInt32LE(section.length - SECTION_HEAD, 0)
  return section
}
/** The place behind the section that begins at `at`. */
export const sectionEnd = (bytes: Buffer, at: number): number => at + SECTION_HEAD + bytes.readUInt32LE(at)

/** READY and END with FLAG_STATS: jobs done u32 (not read by the host) | resident bytes f64 precede the value. */
export const STATS_BYTES = 12
const STATS_RSS = 4
export const writeStats = (to: Buffer, payload: number, jobsDone: number, rss: number): void => {
  to.writeUInt32LE(jobsDone >>> 0, payload)
  to.writeDoubleLE(rss, payload + STATS_RSS)
}
export const statsRssOf = (bytes: Buffer, payload: number): number => bytes.readDoubleLE(payload + STATS_RSS)

/** PULL: items u32 | bytes u32, the credit added. */
export const PULL_BYTES = 8
const CREDIT_BYTES = 4
export const writeCredit = (to: Buffer, payload: number, items: number, bytes: number): void => {
  to.writeUInt32LE(items, payload)
  to.writeUInt32LE(bytes, payload + CREDIT_BYTES)
}
export const creditItemsOf = (bytes: Buffer, payload: number): number => bytes.readUInt32LE(payload)
export const creditBytesOf = (bytes: Buffer, payload: number): number => bytes.readUInt32LE(payload + CREDIT_BYTES)

/** CANCEL: the last delivery written u32, then the reason. */
export const CANCEL_HEAD = 4
export const writeCancelUpTo = (to: Buffer, payload: number, upTo: number): void => {
  to.writeUInt32LE(upTo, payload)
}
export const cancelUpToOf = (bytes: Buffer, payload: number): number => bytes.readUInt32LE(payload)

/** SOFT_LIMIT_REQUEST: the limit in ms u32. */
export const SOFT_LIMIT_REQUEST_BYTES = 4
export const writeRequestedLimit = (to: Buffer, payload: number, limit: number): void => {
  to.writeUInt32LE(limit, payload)
}
export const requestedLimitOf = (bytes: Buffer, payload: number): number => bytes.readUInt32LE(payload)

/**
 * HEARTBEAT: resident bytes f64 | age of the main thread's last turn in ms f64 (0: it turned when it was pinged just now) | oldest
 * accepted delivery u32 (0: none; not read by the host).
 */
export const HEARTBEAT_BYTES = 20
const TURN_AGE = 8
const OLDEST = 16
export const writeHeartbeat = (to: Buffer, payload: number, rss: number, turnAge: number, oldest: number): void => {
  to.writeDoubleLE(rss, payload)
  to.writeDoubleLE(turnAge, payload + TURN_AGE)
  to.writeUInt32LE(oldest, payload + OLDEST)
}
export const heartbeatRssOf = (bytes: Buffer, payload: number): number => bytes.readDoubleLE(payload)
export const heartbeatTurnAgeOf = (bytes: Buffer, payload: number): number => bytes.readDoubleLE(payload + TURN_AGE)
