/**
 * The messages between the pool and a worker, and the fixed part that starts each of them.
 *
 * frame  = u32 length of the body, then the body
 * body   = kind u8 | flags u8 | attempt u16 | delivery u32 | job f64 | what the kind adds
 *
 * All numbers are little-endian. The fixed part is written anew each time a frame is written, so that a job is accepted
 * before it is decoded; the payload behind it is encoded once and survives a put-back.
 *
 * `delivery` numbers the JOB frames written to one worker (1, 2, 3 …); `job` is the job's submission number in its pool.
 */

/** Version of this protocol and of the package: a worker of another build is refused at HELLO. */
export const PROTOCOL_VERSION = 1

export const LENGTH_BYTES = 4
export const FIXED_BYTES = 16
/** Where the payload of an ordinary frame begins, counted from the start of the frame. */
export const FRAME_HEAD = LENGTH_BYTES + FIXED_BYTES

export const Kind = {
  // jobs pipe, host → worker
  JOB: 1,
  PULL: 2,
  QUIT: 3,
  // results pipe, worker's main thread → host
  HELLO: 16,
  WORKER_UP: 17,
  START_FAILED: 18,
  ACCEPTED: 19,
  READY: 20,
  ITEM: 21,
  END: 22,
  PROGRESS: 23,
  LOG: 24,
  FAULT: 25,
  BYE: 26,
  // lifeline, host → watchdog
  CANCEL: 32,
  RECALL: 33,
  STACK_ASK: 34,
  PING: 35,
  SOFT_ASK: 36,
  // lifeline, watchdog → host
  HEARTBEAT: 48,
  RECALLED: 49,
  STACK: 50,
  LIMIT: 51,
  BROKEN: 52,
} as const
export type Kind = (typeof Kind)[keyof typeof Kind]

/** JOB: a meta section stands before the arguments. */
export const FLAG_META = 1
/** JOB: the task is an async generator whose items are pulled by credit. */
export const FLAG_STREAM = 2
/** JOB: how a message broker delivered it stands behind the meta section, or in its place. Apart, because it is the same for most jobs, and then encoded once. */
export const FLAG_DELIVERY = 4
/** JOB: the meta section says what the job is called, instead of its task. */
export const FLAG_NAME = 8
/** READY, END: the payload is an encoded error, not a value. */
export const FLAG_ERROR = 1
/** READY, END: a stats section (jobs done u32, resident bytes f64) stands before the payload. */
export const FLAG_STATS = 2
/** READY, END: the error is the soft time limit's, by interruption; the payload is the stack where the task stood. */
export const FLAG_INTERRUPTED = 4
/** READY, END: the task has returned (or yielded), but the value cannot be sent: the payload is the SerializationError. */
export const FLAG_UNSENDABLE = 8
/** READY, END: the soft limit had passed. The watchdog says so too, but on another pipe, which may be read later. */
export const FLAG_SOFT = 16

/** JOB adds: task index u16 | reserved u16 | soft limit ms u32 | hard limit ms u32 (0: none); then `[u32 length, meta]` if FLAG_META; then `[u32 length, delivery]` if FLAG_DELIVERY; then the arguments. */
export const JOB_FIXED_BYTES = FIXED_BYTES + 12
export const JOB_HEAD = LENGTH_BYTES + JOB_FIXED_BYTES
/** READY and END with FLAG_STATS add this much before the payload. */
export const STATS_BYTES = 12

/** LIMIT: what the watchdog has seen, in `flags`. */
export const LimitStage = {
  /** The soft limit passed: the task's signal has been told. */
  SOFT: 1,
  /** The soft limit (or a cancellation) passed `cancelGrace` ago, and the main thread has not turned since, in a place where interruption is not safe; the claim word is closed for good. */
  STUCK: 2,
  /** The hard limit passed, or the kill that follows a soft limit alone; the claim word is closed for good. The job may have settled meanwhile: its READY decides, the worker is ended all the same. */
  HARD: 3,
} as const
export type LimitStage = (typeof LimitStage)[keyof typeof LimitStage]

/** What a JOB's meta section holds, encoded by the codec. */
export interface JobMeta {
  /** The id given by the caller; absent: the worker derives the same default as the host (see `defaultJobId`). */
  id?: string
  context?: unknown
  /** With FLAG_NAME. */
  name?: string
}

/** What a JOB's delivery section holds, encoded by the codec: how a job came to this pool from a message broker, and how often it has been tried before. */
export interface JobDelivery {
  /** The broker has handed it out before: it may have begun elsewhere. */
  readonly redelivered: boolean
  /** Counts from 1; a retry after a failure adds one. */
  readonly attempt: number
  /** Times it began on a worker that died, before this delivery. */
  readonly losses: number
  /** Times it was published again without having been tried. */
  readonly requeues: number
  /** The queue it was taken from. */
  readonly queue: string
}

/** HELLO's payload (codec). */
export interface Hello {
  protocol: number
  pid: number
  node: string
}

/** A task as WORKER_UP announces it; the index in the list is what JOB names. */
export interface TaskInfo {
  name: string
  /** ms; from `defineTask`. */
  timeLimit?: number
  softTimeLimit?: number
  retryLost?: number
}

/** WORKER_UP's payload (codec). */
export interface WorkerUp {
  pid: number
  tasks: TaskInfo[]
  /** Resident bytes once started. */
  rss: number
}

/** START_FAILED's payload (codec): a module or a start hook failed. */
export interface StartFailed {
  /** Path or URL of the module that could not be loaded. */
  module: string
  error: unknown
}

/** FAULT's payload (codec): an error that belongs to no result any more. */
export interface Fault {
  type: 'unhandledRejection' | 'uncaughtException'
  error: unknown
  /** The delivery of the job in whose async context it arose, when known. */
  delivery?: number
}

/** One captured line. `stream` is where it came from. */
export interface LogLine {
  /** ms since the epoch. */
  time: number
  stream: 'stdout' | 'stderr' | 'log'
  text: string
}

/** HEARTBEAT's payload, fixed layout: rss f64 | age of the main thread's last turn in ms f64 (0: it turned when asked just now) | oldest accepted delivery, 0 when idle, u32. */
export const HEARTBEAT_BYTES = 20

/** CANCEL: `delivery` = the job; payload = last delivery written u32, then the reason (codec). RECALL: `delivery` = last delivery written. */
/** RECALLED: `delivery` = last delivery claimed, `job` = the "last delivery written" that it answers. */
/** STACK_ASK / STACK: `job` = the question's number; STACK's payload is the text. LIMIT: `delivery` = the job, `flags` = stage, `job` = last delivery claimed (STUCK, HARD: nothing later ever begins there), payload = the stack's text (SOFT: none). */
/** BROKEN: the worker cannot write its results any more and ends itself; payload = why, as text. */
/** SOFT_ASK (only with `watchdog: false`, where limits are the host's): `delivery` = the job, payload = limit in ms u32. */
/** PULL: payload = items u32 | bytes u32: credit added. BYE, QUIT, PING: no payload. */

/** The words of `taskStack` when there is no JavaScript to show. */
export const NO_STACK = 'not executing JavaScript (awaiting or in native code)'

/** What the pool hands to `dist/worker/entry.cjs` as its single argument, as JSON. */
export interface WorkerConfig {
  /** The worker's id in its pool, also in PREFORK_WORKER_ID. */
  id: number
  /** Prefix of default job ids, unique to the pool. */
  poolId: string
  /** file: URLs of the task modules. */
  tasks: string[]
  concurrency: number
  cancelGrace: number
  heartbeatInterval: number
  watchdog: boolean
  killTree: boolean
  output: 'inherit' | 'ignore' | 'capture'
  maxMessageSize: number
  /** Measure resident memory at each READY (set when maxMemoryPerWorker is). */
  measureMemory: boolean
}

/** The id of a job whose caller gave none: the same on both sides, so that it need not travel. */
export const defaultJobId = (poolId: string, job: number): string => `${poolId}-${job}`

export const FD_JOBS = 3
export const FD_RESULTS = 4
export const FD_LIFELINE = 5
