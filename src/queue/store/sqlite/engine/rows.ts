import { crc32 } from 'node:zlib'
import type { Counts, HistoryEntry, SerializedError } from '../../../../runtime/delivery.js'
import { shownCounts } from '../../ended-jobs.js'
import { type ClaimedJob, JOB_STATES, type JobState, type StoredJob, type StoredOptions } from '../../store.js'
import type { Row } from '../database/node-sqlite.js'

/** The states as they are stored. */
export const STATE = { waiting: 0, delayed: 1, active: 2, blocked: 3, completed: 4, failed: 5, expired: 6, cancelled: 7 } as const satisfies Record<
  JobState,
  number
>

/** What `run_at` is: a time that a user chose, the end of a delay that a user chose, or the end of the wait before a retry. */
export const TIMING = { at: 0, delay: 1, retry: 2 } as const

/** A row of `job`, as far as code reads it. */
export interface JobRow {
  readonly seq: number
  readonly queue: number
  readonly id: string
  readonly task: string
  readonly state: number
  readonly priority: number
  readonly timing: number
  readonly run_at: number | null
  readonly expires_at: number | null
  readonly attempt: number
  readonly losses: number
  readonly requeues: number
  readonly unknown_for: number
  readonly token: number
  readonly session: number | null
  readonly node: string | null
  readonly begun: number
  readonly cancel: number
  readonly pending: number | null
  readonly tolerant: number
  readonly awaited: number
  readonly dedup: string | null
  readonly created_at: number
  readonly ended_at: number | null
  readonly options: string | null
  readonly history: string | null
  readonly reason: string | null
  /** That of a completed job, if it is short. */
  readonly answer: Uint8Array | null
  readonly answer_checksum: number | null
}

/** What is read of a job that may end. */
export type EndingRow = Pick<
  JobRow,
  'seq' | 'queue' | 'id' | 'state' | 'awaited' | 'pending' | 'options' | 'history' | 'attempt' | 'losses' | 'requeues' | 'unknown_for'
>
/** What a claim reads of a job. */
export type WaitingRow = EndingRow & Pick<JobRow, 'task' | 'priority' | 'expires_at' | 'token'>
/** What a settlement reads of it. */
export type HeldRow = EndingRow & Pick<JobRow, 'cancel' | 'timing' | 'run_at'>
/** What is read of an ended job that is to be removed. */
export type RemovedRow = Pick<JobRow, 'seq' | 'queue' | 'id' | 'state' | 'awaited' | 'pending' | 'dedup'>

export const jobRow = (row: Row | undefined): JobRow | undefined => row as unknown as JobRow | undefined
export const jobRows = (rows: Row[]): JobRow[] => rows as unknown as JobRow[]

export const isEndState = (state: number): boolean => state >= STATE.completed

export const stateName = (state: number): JobState => JOB_STATES[state]!

export const countsOf = ({ attempt, losses, requeues, unknown_for: unknownFor }: EndingRow): Counts =>
  unknownFor === 0 ? { attempt, losses, requeues } : { attempt, losses, requeues, unknownFor }

/** The counts as a statement takes them. */
export const countColumns = ({ attempt, losses, requeues, unknownFor = 0 }: Counts): [number, number, number, number] => [attempt, losses, requeues, unknownFor]

export const optionsOf = (text: string | null): StoredOptions => (text === null ? {} : (JSON.parse(text) as StoredOptions))

/** Undefined where nothing is to be stored. */
const textOf = (value: object): string | null => (Object.keys(value).length === 0 ? null : JSON.stringify(value))

export const optionsText = (options: StoredOptions): string | null => textOf(options)

export const historyText = (history: readonly HistoryEntry[]): string | null => textOf(history)

export const historyOf = (text: string | null): HistoryEntry[] => (text === null ? [] : (JSON.parse(text) as HistoryEntry[]))

export const errorOf = (text: unknown): SerializedError | undefined =>
  typeof text === 'string' ? ({ stack: undefined, code: undefined, ...JSON.parse(text) } as SerializedError) : undefined

export const checksumOf = (bytes: Uint8Array): number => crc32(bytes)

/** Whether the bytes are those that were stored: a page that is lost is read back as zeros, in silence. */
export const isIntact = (bytes: Uint8Array, checksum: unknown): boolean => crc32(bytes) === checksum

export const claimedJob = (row: WaitingRow, queue: string, body: Uint8Array, results: ClaimedJob['results']): ClaimedJob => ({
  seq: row.seq,
  token: row.token + 1,
  id: row.id,
  queue,
  task: row.task,
  body,
  options: optionsOf(row.options),
  priority: row.priority,
  expiresAt: row.expires_at ?? undefined,
  counts: countsOf(row),
  history: historyOf(row.history),
  redelivered: row.token > 0,
  results,
})

/** `shift`: what is added to the time of a delay. */
export const storedJob = (row: JobRow, queue: string, shift: number, error: SerializedError | undefined): StoredJob => ({
  seq: row.seq,
  id: row.id,
  queue,
  task: row.task,
  state: stateName(row.state),
  priority: row.priority,
  runAt: row.run_at === null ? undefined : row.timing === TIMING.at ? row.run_at : row.run_at + shift,
  expiresAt: row.expires_at ?? undefined,
  createdAt: row.created_at,
  endedAt: row.ended_at ?? undefined,
  counts: shownCounts(countsOf(row), stateName(row.state), row.begun),
  history: historyOf(row.history),
  reason: row.reason ?? undefined,
  error,
  node: row.node ?? undefined,
})
