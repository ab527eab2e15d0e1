import type { Counts, DeadReason, HistoryEntry } from '../delivery.js'

export type TaskStatus = 'pending' | 'running' | 'success' | 'failure' | 'soft_timeout' | 'hard_timeout' | 'revoked' | 'lost' | 'retried'

export interface TaskLogLine {
  /** ms since the epoch. */
  time: number
  stream: string
  text: string
}

/** One job in a node's history. Times in ms since the epoch. */
export interface TaskRecord {
  id: string
  name: string
  queue: string
  status: TaskStatus
  counts: Counts
  received: number
  started: number | undefined
  ended: number | undefined
  /** ms from start to end. */
  duration: number | undefined
  worker: number | undefined
  error: string | undefined
  /** The error with its stack, cut to 8,000 characters; where a limit ended the job, the stack of its task. Only of a run that failed or was lost. */
  stack?: string | undefined
  /** The runs so far that failed or were lost, on any node, newest last. Absent: none. */
  attempts?: readonly HistoryEntry[] | undefined
  /** The arguments as text, cut to 2,000 characters, without passwords. Absent with `showArguments: false`. */
  arguments?: string | undefined
  /** Captured output, up to 500 lines. */
  logs: TaskLogLine[]
}

/**
 * Events of a node. Each carries the node's name and the time (ms since the epoch). `duration`: ms of the run that ended. A job that was
 * retried or revoked while it did not run has no `worker` and a `duration` of 0.
 */
export type FarmEventBody =
  | { type: 'node.up'; pid: number; host: string; version: string; queues: string[]; tasks: string[] }
  | { type: 'node.heartbeat'; stats: NodeStats }
  | { type: 'node.down'; reason: string }
  | { type: 'worker.up'; worker: number; pid: number }
  | { type: 'worker.exit'; worker: number; pid: number | undefined; reason: string; expected: boolean; jobs: string[] }
  | { type: 'task.received'; id: string; name: string; queue: string; counts: Counts }
  | { type: 'task.started'; id: string; name: string; worker: number; attempt: number }
  /** `value`: the value as JSON holds it; undefined if its JSON is longer than 4,096 characters. */
  | { type: 'task.progress'; id: string; name: string; worker: number | undefined; value: unknown }
  | { type: 'task.succeeded'; id: string; name: string; worker: number | undefined; duration: number }
  | { type: 'task.failed'; id: string; name: string; worker: number | undefined; duration: number; error: string; dead: DeadReason | undefined }
  | { type: 'task.retried'; id: string; name: string; worker: number | undefined; duration: number; delay: number; counts: Counts; error: string }
  | { type: 'task.revoked'; id: string; name: string; worker: number | undefined; duration: number }
  | { type: 'task.lost'; id: string; name: string; worker: number | undefined; duration: number; reason: string; losses: number }
  | { type: 'task.soft_timeout'; id: string; name: string; worker: number | undefined; duration: number }
  | { type: 'task.hard_timeout'; id: string; name: string; worker: number | undefined; duration: number }

export type FarmEvent = FarmEventBody & { node: string; at: number }

export interface NodeWorker {
  id: number
  pid: number | undefined
  state: string
  /** Resident bytes. */
  rss: number
  /** ms */
  uptime: number
  /** Its jobs by their outcomes, under the words and by the count of `totals`. */
  done: number
  failed: number
  /** Absent: a node of an older version, which counts runs in `done` and `failed`. */
  retried?: number
  running: number
  job: { id: string; name: string; age: number; attempt: number } | undefined
  /** ms since the main thread last turned. */
  stalled: number
}

export interface NodeStats {
  node: string
  pid: number
  host: string
  version: string
  /** ms since the node started. */
  uptime: number
  /** ms between two heartbeats. Absent: not known. */
  heartbeatInterval?: number
  state: 'starting' | 'running' | 'quiet' | 'paused' | 'draining' | 'stopped'
  connected: boolean
  queues: string[]
  /** Messages ready in the node's queues when last asked; undefined before the first answer. */
  depth: number | undefined
  prefetch: number
  /** Deliveries held, running ones included. */
  held: number
  running: number
  scale: { min: number; max: number; wanted: number; alive: number; auto: boolean }
  /** Of jobs, since the node started. */
  totals: {
    received: number
    succeeded: number
    /** Given up: neither done nor tried again. */
    failed: number
    /** Runs after which the job was to be tried again. */
    retried: number
    revoked: number
    lost: number
    deadLettered: number
    recognised: number
    /** Outcomes that came too late: the delivery was gone, and the broker delivers the job again. */
    refused: number
  }
  /** Resident bytes of the node itself. */
  rss: number
  rateLimits: Record<string, string>
  workers: NodeWorker[]
}

/** Jobs of one worker by outcome, as `totals` counts them. */
export type WorkerCounts = Pick<NodeStats['totals'], 'succeeded' | 'failed' | 'retried'>

export interface NodeSnapshot {
  stats: NodeStats
  /** Newest last, at most `taskHistory`. */
  tasks: TaskRecord[]
}

/** Characters of a progress value in an event, as JSON. */
const MAX_REPORTED = 4_096

/** A progress value as an event can carry it: the value as JSON holds it, undefined if its JSON is too long. */
export const reportable = (value: unknown): unknown => {
  try {
    const text = JSON.stringify(value)
    return text === undefined || text.length > MAX_REPORTED ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return undefined
  }
}
