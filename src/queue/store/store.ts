import type { Counts, DeadReason, HistoryEntry, RunRecord, SerializedError } from '../../runtime/delivery.js'

/**
 * What a queue and its workers ask of a store: `sqlite/` keeps jobs in a file, `memory/` in this process. Both pass the same contract tests.
 *
 * Every method that changes jobs, but `alter`, is one transaction, and resolves after its commit. Methods may share a commit. A method rejects with
 * StoreError when the store is full, corrupt, closed, or was removed; nothing has changed then. A store that is only busy keeps trying.
 * Times are ms since the epoch (wall clock) unless they are durations.
 */
export interface Store {
  readonly kind: 'sqlite' | 'memory'
  /** The real path of its file, once it is open. Undefined: it is in memory. */
  readonly file?: string | undefined
  /** Opens the store: creates or migrates it. Rejects with StoreError when it cannot be used; the message says what to do. */
  open(): Promise<void>
  /**
   * Adds jobs: all or none. Answers in the order of `jobs`. A job whose id its queue has already is not added: the one that is there is the
   * answer. Rejects with `ERR_PREFORK_UNKNOWN_DEPENDENCY` when one depends on a job that is neither in its queue nor earlier in `jobs`.
   */
  add(jobs: readonly NewJob[]): Promise<readonly AddedJob[]>
  /** How many sessions there are, of all processes: nodes that claim jobs. */
  sessionCount(): Promise<number>
  /** Registers a process that will claim jobs. */
  openSession(info: SessionInfo): Promise<StoreSession>
  /**
   * Changes the jobs that match, of those that there are at the call; resolves with their ids. Each transaction looks at MAX_ALTERED jobs at most, and
   * others may come between: when it rejects, some may have been changed.
   */
  alter(selector: JobSelector, change: JobChange): Promise<readonly string[]>
  /**
   * The jobs that match, by `seq` upwards, at most `limit` (default 100, at most 1,000). They are of one moment, unless more than MAX_FOUND are to be
   * looked at to find them: then of one for each part.
   */
  find(selector: JobSelector): Promise<readonly StoredJob[]>
  /** One job with its body, answer and progress; undefined: there is none. */
  read(queue: string, id: string): Promise<StoredJobData | undefined>
  /** Jobs by state, from counters that are kept with each change. Queues without a job are absent, unless they are named. */
  counts(queues?: readonly string[]): Promise<Readonly<Record<string, Readonly<Record<JobState, number>>>>>
  /** Reads the settings of a queue, and sets those that are given. */
  queue(name: string, set?: Partial<QueueState>): Promise<QueueState>
  /** Stores a schedule under its key, or removes it (null). False: there was none to remove. A schedule whose timing has not changed keeps its next tick. */
  schedule(queue: string, key: string, schedule: StoredSchedule | null): Promise<boolean>
  schedules(queue: string): Promise<readonly (StoredSchedule & { readonly key: string })[]>
  /** Calls `listener` after each commit that ended, began, delayed or changed a job, of this process and, soon after, of others. Best effort: a listener reads the store for the truth. */
  watch(listener: (event: StoreEvent) => void): () => void
  /** A condition for the operator: 'locked' (for 5 s), 'full', 'corrupt', 'removed'; 'ok' when it has passed. */
  onCondition(listener: (condition: StoreCondition, error?: Error) => void): () => void
  /** Resolves when what was asked has been done. Sessions are closed first: what they hold goes back. */
  close(): Promise<void>
}

/** A process that claims jobs. It is alive while it beats; the store does that by itself. */
export interface StoreSession {
  /** Aborts when the store, or another process, has given up this session: every job that it holds may be claimed elsewhere. A new session is to be opened. */
  readonly lost: AbortSignal
  /** Claims up to `max` jobs that are due, the most urgent first, from queues that are not paused and whose rate allows it. */
  claim(queues: readonly string[], max: number): Promise<Claim>
  /** Ends the claim of a job. False: the claim was lost, and nothing has changed; or the job was cancelled before, and has ended so. Waits while the store is full or locked, for as long as the session lives. */
  settle(lease: Lease, outcome: Outcome): Promise<boolean>
  /**
   * The job has begun, for the `beginnings`th time under this claim (default 1). Stored soon, `atOnce` with the next commit; not waited for. `history`: the job's
   * from now on, with the runs of this claim that were lost. A job whose session dies counts a loss for each beginning, and a requeue if it had not begun. Its
   * history then gets an entry for the run that ended with the session.
   */
  began(lease: Lease, beginnings?: number, atOnce?: boolean, history?: readonly HistoryEntry[]): void
  /** The job is about to begin: resolves when that is stored as its beginning, or the claim is over. */
  beginning(lease: Lease): Promise<void>
  /** Stores the last progress of a job soon; not waited for. */
  progress(lease: Lease, value: Uint8Array): void
  /** Calls `listener` for each claimed job that somebody cancels. */
  onCancel(listener: (lease: Lease) => void): void
  /** Calls `listener` when there may be something to claim. */
  onWork(listener: () => void): void
  /** Calls `listener` when the settings of a queue may have changed: it is to read them. */
  onSettings(listener: () => void): void
  /** Gives back, unbegun, what is still held, and ends the session. */
  close(): Promise<void>
}

export interface SessionInfo {
  /** The name of the node, for people. */
  readonly name: string
  /** Moves due jobs that a user delayed, and inserts the ticks of schedules. Retries, expiry and dead sessions are handled by every session. */
  readonly schedulers: boolean
}

export const JOB_STATES = ['waiting', 'delayed', 'active', 'blocked', 'completed', 'failed', 'expired', 'cancelled'] as const
export type JobState = (typeof JOB_STATES)[number]

/** A job to be added. Sizes and names have been checked. */
export interface NewJob {
  readonly id: string
  readonly queue: string
  readonly task: string
  /** The message body: arguments and context. */
  readonly body: Uint8Array
  readonly options: StoredOptions
  /** Higher first. Default 0. */
  readonly priority: number
  /** Not before. Undefined: at once. */
  readonly runAt: number | undefined
  /** `runAt` was given as a delay: it moves with the wall clock when that is set. */
  readonly relative: boolean
  /** What the wall clock was ahead of the monotonic one, `hrtime`, when `runAt` was computed from a delay, ms. A store that finds it set since then moves `runAt` with it. */
  readonly clockOffset?: number
  /** It must not begin after. */
  readonly expiresAt: number | undefined
  /** Ids of jobs of the same queue, or earlier in the same call, that must end first. */
  readonly dependsOn: readonly string[]
  readonly onFailedDependency: 'fail' | 'run'
  /** While a job with this key is unfinished, and for `ttl` ms after it was added, another one is not added: the first is the answer. */
  readonly dedup: { readonly key: string; readonly ttl: number | undefined } | undefined
}

/** Stored with a job and given back with each claim. */
export interface StoredOptions {
  readonly maxAttempts?: number
  readonly backoff?: { readonly kind: 'fixed' | 'exponential'; readonly delay: number; readonly maxDelay?: number; readonly jitter?: number }
  readonly timeLimit?: number
  readonly softTimeLimit?: number
  readonly retryLost?: number
  /** How long the ended job is kept: ms and jobs. */
  readonly keep?: Retention
}

export interface Retention {
  readonly completed?: { readonly age?: number; readonly count?: number }
  readonly failed?: { readonly age?: number; readonly count?: number }
}

export interface AddedJob {
  readonly seq: number
  readonly id: string
  readonly state: JobState
  /** False: a job with this id, or with the same `dedup` key, was there. */
  readonly added: boolean
}

/** Names one claim of one job: a token that has grown says that the claim is over. */
export interface Lease {
  readonly seq: number
  readonly token: number
}

export interface ClaimedJob extends Lease {
  readonly id: string
  readonly queue: string
  readonly task: string
  readonly body: Uint8Array
  readonly options: StoredOptions
  readonly priority: number
  readonly expiresAt: number | undefined
  readonly counts: Counts
  readonly history: readonly HistoryEntry[]
  /** It was claimed before. */
  readonly redelivered: boolean
  /** What it depended on returned, by id; undefined: it depends on nothing. */
  readonly results: Readonly<Record<string, Uint8Array>> | undefined
}

export interface Claim {
  readonly jobs: readonly ClaimedJob[]
  /** When the next job may be due, ms since the epoch; undefined: none is known. */
  readonly nextAt: number | undefined
}

export type Outcome =
  /** `record`: runs of this claim were lost before the one that succeeded. Absent: counts and history stay as they are. */
  | { readonly as: 'completed'; readonly answer: Uint8Array; readonly record?: RunRecord }
  /** It runs again after `delay` ms. */
  | { readonly as: 'retry'; readonly delay: number; readonly counts: Counts; readonly history: readonly HistoryEntry[]; readonly error: SerializedError }
  | {
      readonly as: 'failed' | 'expired' | 'cancelled'
      readonly reason: DeadReason | 'cancelled'
      readonly error: SerializedError
      readonly counts: Counts
      readonly history: readonly HistoryEntry[]
    }
  /** It did not begin: it waits again as before. */
  | { readonly as: 'release' }

/** Jobs that one transaction of `alter` looks at, and one turn of `find`, at most. */
export const MAX_ALTERED = 1_000
export const MAX_FOUND = 10_000

/** Which jobs: each field that is given must hold. */
export interface JobSelector {
  readonly queue?: string
  readonly ids?: readonly string[]
  /** Only this job: its id may be another's by now. */
  readonly seq?: number
  readonly states?: readonly JobState[]
  readonly task?: string
  /** Only those that ended more than so many ms ago. */
  readonly endedBefore?: number
  /** Only those after this `seq`, for the next page. */
  readonly after?: number
  /** Of a change: default all. */
  readonly limit?: number
}

/**
 * cancel: what is not claimed ends at once; what is claimed is asked to, once, and does not wait again: a retry, a release or the loss of its
 * session end it as cancelled, and so does what settles it: it completes no more. retry: what failed, expired or was cancelled waits
 * again, with fresh counts, without its expiry, and whether or not what it depended on has succeeded. promote: what is delayed waits. remove:
 * what is not active goes; for jobs that wait on it, it has failed.
 */
export type JobChange = 'cancel' | 'retry' | 'promote' | 'remove'

export interface StoredJob {
  readonly seq: number
  readonly id: string
  readonly queue: string
  readonly task: string
  readonly state: JobState
  readonly priority: number
  readonly runAt: number | undefined
  readonly expiresAt: number | undefined
  readonly createdAt: number
  readonly endedAt: number | undefined
  readonly counts: Counts
  readonly history: readonly HistoryEntry[]
  /** Why it failed, expired or was cancelled. */
  readonly reason: string | undefined
  readonly error: SerializedError | undefined
  /** The name of the node that has it. */
  readonly node: string | undefined
}

export interface StoredJobData extends StoredJob {
  readonly body: Uint8Array
  /** Of a completed job. */
  readonly answer: Uint8Array | undefined
  readonly progress: Uint8Array | undefined
}

export interface QueueState {
  readonly paused: boolean
  /** Starts for each window, by all processes together: '10/s'. null: no limit. One of another form rejects with RangeError. */
  readonly rate: string | null
}

export interface StoredSchedule {
  /** Exactly one of the two. */
  readonly cron?: string
  /** ms. */
  readonly every?: number
  readonly timeZone?: string
  /** What runs of the ticks that were missed. */
  readonly catchUp: 'one' | 'none' | 'all'
  readonly task: string
  readonly body: Uint8Array
  readonly options: StoredOptions
  readonly priority: number
  readonly nextAt?: number
}

export interface StoreEvent {
  readonly type: 'waiting' | 'delayed' | 'active' | 'completed' | 'failed' | 'expired' | 'cancelled' | 'retrying' | 'progress' | 'stalled'
  readonly queue: string
  readonly id: string
  readonly seq: number
}

export type StoreCondition = 'ok' | 'locked' | 'full' | 'corrupt' | 'removed'
