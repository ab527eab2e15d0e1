import type { Counts, HistoryEntry, SerializedError } from '../../../runtime/delivery.js'
import { runAtOf } from '../clock-jumps.js'
import { isEnded, shownCounts } from '../ended-jobs.js'
import type { ClaimedJob, JobSelector, JobState, NewJob, StoredJob, StoredJobData, StoredOptions } from '../store.js'

/** What `runAt` is: a time that a user chose, the end of a delay that a user chose, or the end of the wait before a retry. */
export type Timing = 'at' | 'delay' | 'retry'

/** Where a row lies in the heap of its state, and in that of its expiry; -1: in none. */
export interface HeapIndices {
  heapIndex: number
  expiryIndex: number
}

/** A job in memory. */
export interface Row extends HeapIndices {
  readonly seq: number
  readonly id: string
  readonly queue: string
  readonly task: string
  readonly body: Uint8Array
  readonly options: StoredOptions
  readonly priority: number
  readonly createdAt: number
  readonly onFailedDependency: 'fail' | 'run'
  /** None, once it has completed. */
  dependsOn: readonly Row[]
  state: JobState
  timing: Timing
  /** Of 'at': by the wall clock. Of the others: by the time of delays, which is the wall clock without its jumps. */
  runAt: number | undefined
  expiresAt: number | undefined
  counts: Counts
  history: readonly HistoryEntry[]
  /** Grows with each claim. */
  token: number
  session: object | undefined
  node: string | undefined
  begun: number
  cancelRequested: boolean
  /** Those of `dependsOn` that have not ended. */
  readonly waitsOn: Set<Row>
  /** Unfinished jobs that depend on this one, which has not completed. */
  readonly dependents: Set<Row>
  /** Answers of `dependsOn`, by id. */
  readonly results: Map<string, Uint8Array>
  dedup: string | undefined
  endedAt: number | undefined
  /** ms since the epoch; undefined: for ever. */
  keptUntil: number | undefined
  /** Once so many of its queue and state have ended, it is removed. */
  keptTo: number
  reason: string | undefined
  error: SerializedError | undefined
  answer: Uint8Array | undefined
  progress: Uint8Array | undefined
}

export const FIRST_COUNTS: Counts = { attempt: 1, losses: 0, requeues: 0 }

/** The time of delays. */
export interface RelativeTime {
  /** What is to be added to it to get the wall clock's, ms. */
  readonly shift: number
  /** What the wall clock is ahead of the monotonic one, ms. */
  readonly offset: number
}

const relativeRunAt = (job: NewJob, { shift, offset }: RelativeTime): number | undefined => {
  const runAt = runAtOf(job, offset)
  return runAt === undefined || !job.relative ? runAt : runAt - shift
}

export const newRow = (seq: number, job: NewJob, dependsOn: readonly Row[], now: number, time: RelativeTime): Row => ({
  heapIndex: -1,
  expiryIndex: -1,
  seq,
  id: job.id,
  queue: job.queue,
  task: job.task,
  body: job.body,
  options: job.options,
  priority: job.priority,
  createdAt: now,
  onFailedDependency: job.onFailedDependency,
  dependsOn,
  state: 'waiting',
  timing: job.relative ? 'delay' : 'at',
  runAt: relativeRunAt(job, time),
  expiresAt: job.expiresAt,
  counts: FIRST_COUNTS,
  history: [],
  token: 0,
  session: undefined,
  node: undefined,
  begun: 0,
  cancelRequested: false,
  waitsOn: new Set(),
  dependents: new Set(),
  results: new Map(),
  dedup: job.dedup?.key,
  endedAt: undefined,
  keptUntil: undefined,
  keptTo: 0,
  reason: undefined,
  error: undefined,
  answer: undefined,
  progress: undefined,
})

/** `shift`: what is added to the time of a delay. */
export const storedJob = (row: Row, shift: number): StoredJob => ({
  seq: row.seq,
  id: row.id,
  queue: row.queue,
  task: row.task,
  state: row.state,
  priority: row.priority,
  runAt: row.runAt === undefined || row.timing === 'at' ? row.runAt : row.runAt + shift,
  expiresAt: row.expiresAt,
  createdAt: row.createdAt,
  endedAt: row.endedAt,
  counts: shownCounts(row.counts, row.state, row.begun),
  history: row.history,
  reason: row.reason,
  error: row.error,
  node: row.node,
})

export const storedJobData = (row: Row, shift: number): StoredJobData => ({
  ...storedJob(row, shift),
  body: row.body,
  answer: row.answer,
  progress: row.progress,
})

export const claimedJob = (row: Row): ClaimedJob => ({
  seq: row.seq,
  token: row.token,
  id: row.id,
  queue: row.queue,
  task: row.task,
  body: row.body,
  options: row.options,
  priority: row.priority,
  expiresAt: row.expiresAt,
  counts: row.counts,
  history: row.history,
  redelivered: row.token > 1,
  results: row.dependsOn.length === 0 ? undefined : Object.fromEntries(row.results),
})

/** Whether a job matches, its queue and id aside. */
export const matches = (row: Row, { seq, states, task, endedBefore, after }: JobSelector, now: number): boolean =>
  (seq === undefined || row.seq === seq) &&
  (after === undefined || row.seq > after) &&
  (states === undefined || states.includes(row.state)) &&
  (task === undefined || row.task === task) &&
  (endedBefore === undefined || (isEnded(row.state) && row.endedAt! < now - endedBefore))
