/** The messages between the pool and a worker: their kinds, flags and payloads. Their layout in bytes is in frame.ts. */

import type { Backoff } from '../util/backoff.js'

/** Version of this protocol and of the package: a worker of another build is refused at HELLO. */
export const PROTOCOL_VERSION = 4

/**
 * What the fixed part and the payload of a message mean where its name does not say it:
 *
 * PULL                credit for the stream `delivery`
 * REPLY               the answer of a CALL of `delivery`: a value or (FLAG_ERROR) an error
 * CALL                `delivery` asks its host; always before its READY or END
 * LOADED              only under `node --watch`: the worker loads the module of this file: URL
 * CANCEL              `delivery`: the job to cancel; every unclaimed delivery up to the one in the payload is taken back, too. Without time for an
 *                     interruption the host alone ends a worker whose task does not settle
 * RECALL              `delivery`: the last delivery written
 * STACK_REQUEST       `job`: the number of the request
 * PROFILE_REQUEST     `job`: the number of the request; `delivery`: how long, ms
 * SOFT_LIMIT_REQUEST  `delivery`: the job. Only with `watchdog: false`, where limits are the host's
 * RECALLED            `delivery`: the last delivery claimed; `job`: the last delivery written, of the RECALL or CANCEL that it answers
 * STACK               `job`: the number of the request; the payload is the stack as text
 * PROFILE             `job`: the number of the request; the payload is the next piece of the profile, JSON as text; PROFILE_LAST and PROFILE_FAILED in `flags`
 * LIMIT               `delivery`: the job; `flags`: a LimitStage; `job`: the last delivery claimed (STUCK, HARD: no later one begins
 *                     there); the payload is the stack as text (SOFT: none)
 * BROKEN              the worker cannot write its results any more and must end; the payload is the reason as text
 *
 * 35 was PING, which no host sends: it must not be given to another message.
 */
export const Kind = {
  // jobs pipe, host → worker
  JOB: 1,
  PULL: 2,
  QUIT: 3,
  REPLY: 4,
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
  CALL: 27,
  LOADED: 28,
  // lifeline, host → watchdog
  CANCEL: 32,
  RECALL: 33,
  STACK_REQUEST: 34,
  SOFT_LIMIT_REQUEST: 36,
  PROFILE_REQUEST: 37,
  // lifeline, watchdog → host
  HEARTBEAT: 48,
  RECALLED: 49,
  STACK: 50,
  LIMIT: 51,
  BROKEN: 52,
  PROFILE: 53,
} as const
export type Kind = (typeof Kind)[keyof typeof Kind]

/** JOB: a meta section precedes the arguments. */
export const FLAG_META = 1
/** JOB: the task is an async generator whose items are pulled by credit. */
export const FLAG_STREAM = 2
/**
 * JOB: a delivery section (how a message broker delivered the job) follows the meta section, if there is one. It is separate because
 * most jobs have the same delivery, which is then encoded once.
 */
export const FLAG_DELIVERY = 4
/** JOB: the meta section has a name for the job, other than its task's. */
export const FLAG_NAME = 8
/** JOB: the worker records the acceptance where the host reads it when it has to know (`wire/acceptance-record.ts`), and writes no ACCEPTED. */
export const FLAG_RECORD = 16
/** JOB: the caller gave functions that the task may call (CALL, REPLY). */
export const FLAG_CALLS = 32
/** READY, END, REPLY: the payload is an encoded error, not a value. */
export const FLAG_ERROR = 1
/** READY, END: a stats section precedes the value. */
export const FLAG_STATS = 2
/** READY, END: the task was interrupted, after its soft time limit or a cancellation; the payload is the stack of the task at that moment. */
export const FLAG_INTERRUPTED = 4
/** READY, END: the task has returned (or yielded), but the value cannot be sent: the payload is the SerializationError. */
export const FLAG_UNSENDABLE = 8
/** READY, END: the soft limit had passed. The watchdog reports it too, with LIMIT, but on another pipe, which may be read later. */
export const FLAG_SOFT = 16
/** READY: the acceptance was recorded; the times of the job precede the value. */
export const FLAG_TIMES = 32

/** PROFILE: no piece follows. */
export const PROFILE_LAST = 1
/** PROFILE: there is no profile; the payload is the reason as text. */
export const PROFILE_FAILED = 2

/** LIMIT: what the watchdog found, in `flags`. */
export const LimitStage = {
  /** The soft limit passed: the task's signal aborts. */
  SOFT: 1,
  /** The grace after the soft limit or a cancellation is over, and the main thread has not turned since, in a place where interruption is not safe; the claim word is closed for good. */
  STUCK: 2,
  /** The hard limit passed, or the kill that follows a soft limit alone; the claim word is closed for good. The job may have settled meanwhile: its READY decides, the worker is ended all the same. */
  HARD: 3,
} as const
export type LimitStage = (typeof LimitStage)[keyof typeof LimitStage]

/** What a JOB's meta section holds, encoded by the codec. */
export interface JobMeta {
  /** The caller's id; absent: host and worker derive the same default (`defaultJobId`). */
  id?: string
  context?: unknown
  /** With FLAG_NAME. */
  name?: string
}

/** What a JOB's delivery section holds, encoded by the codec: how a message broker delivered the job, and how often it has been tried before. */
export interface JobDelivery {
  /** The broker has handed it out before: it may have begun elsewhere. */
  readonly redelivered: boolean
  /** The attempt of a user's job, from 1: a retry after a failure adds one. `currentJob().attempt` counts the runs in one pool. */
  readonly attempt: number
  /** Times it began on a worker that died, before this delivery. */
  readonly losses: number
  /** Times it was published again without having been tried. */
  readonly requeues: number
  /** The queue it was taken from. */
  readonly queue: string
  /** What the jobs that it depended on returned, by their ids, where the broker knows dependencies. */
  readonly results?: Readonly<Record<string, unknown>>
}

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
  /** For a node; a pool ignores it. */
  maxAttempts?: number
  backoff?: Backoff
}

export interface WorkerUp {
  pid: number
  tasks: TaskInfo[]
  /** Resident bytes once started. */
  rss: number
  /** It can read and write frames by place. */
  places: boolean
}

/** START_FAILED's payload (codec): a module or a start hook failed. */
export interface StartFailed {
  /** Path or URL of the module that could not be loaded. */
  module: string
  error: unknown
}

/** FAULT's payload (codec): an error that is part of no job's result. */
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

/** `taskStack` when there is no JavaScript to show. */
export const NO_STACK = 'not executing JavaScript (awaiting or in native code)'

/** Why there is no profile with `watchdog: false`. */
export const NO_WATCHDOG = 'it has no watchdog (watchdog: false), which is what profiles it.'

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
  /** The nice value of the worker's main thread; 0: that of the host. */
  niceness: number
  killTree: boolean
  output: 'inherit' | 'ignore' | 'capture'
  maxMessageSize: number
  /** It has an acceptance record. */
  record: boolean
  /** Bytes of shared memory for large arguments, and as many for large results; 0: none. */
  placeBytes: number
  /** Measure resident memory at each READY (set when maxMemoryPerWorker is). */
  measureMemory: boolean
}

/** Calls of one job that may be unanswered at once. */
export const MAX_CALLS = 64

/** A small `maxMessageSize` is meant for values: an announcement, or the error of a call, must still pass. */
export const SMALL_MESSAGE_MAX = 64 * 1024

/** Without a hard limit, the worker of a job that has not stopped is killed this many `cancelGrace` after the soft limit. */
export const SOFT_TO_KILL = 5

/** The id of a job whose caller gave none: the same on both sides, so that it need not travel. */
export const defaultJobId = (poolId: string, job: number): string => `${poolId}-${job}`

export const FD_JOBS = 3
export const FD_RESULTS = 4
export const FD_LIFELINE = 5
/** The acceptance record, where there is one, and the memory in which the worker puts large results. */
export const FD_RECORD = 6
/** The memory in which the host puts large arguments. Only where there is a record. */
export const FD_MEMORY = 7
