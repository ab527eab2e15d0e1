/** What the host and the thread of a store say to each other. */
import type { HistoryEntry } from '../../../runtime/delivery.js'
import type { Claim, ClaimedJob, JobChange, JobSelector, Lease, NewJob, Outcome, QueueState, StoreCondition, StoredSchedule, StoreEvent } from '../store.js'

/** What the host gives to the thread at its start. */
export interface ThreadData {
  /** Real path of the file. */
  readonly path: string
  /** How long the beat of a session may stand still, ms. */
  readonly lease: number
  /** For tests: what the wall clock is off by, ms, in shared memory. */
  readonly wallOffset?: Float64Array
  /** For tests: as if SQLite were too old for several processes on one file. */
  readonly exclusive?: boolean
}

export type Operation =
  | { readonly op: 'add'; readonly jobs: readonly NewJob[] }
  | { readonly op: 'alter'; readonly selector: JobSelector; readonly change: JobChange; readonly upTo?: number }
  | { readonly op: 'queue'; readonly name: string; readonly set: Partial<QueueState> }
  | { readonly op: 'schedule'; readonly queue: string; readonly key: string; readonly schedule: StoredSchedule | null }
  | { readonly op: 'openSession'; readonly name: string; readonly schedulers: boolean }
  | { readonly op: 'closeSession'; readonly session: number }
  | { readonly op: 'claim'; readonly session: number; readonly queues: readonly string[]; readonly max: number }
  | { readonly op: 'settle'; readonly session: number; readonly lease: Lease; readonly outcome: Outcome }
  | {
      readonly op: 'began'
      readonly session: number
      readonly lease: Lease
      readonly beginnings: number
      readonly atOnce: boolean
      readonly history?: readonly HistoryEntry[]
    }
  | { readonly op: 'progress'; readonly session: number; readonly lease: Lease; readonly value: Uint8Array }
  | { readonly op: 'find'; readonly selector: JobSelector }
  | { readonly op: 'read'; readonly queue: string; readonly id: string }
  | { readonly op: 'counts'; readonly queues: readonly string[] | undefined }
  | { readonly op: 'readQueue'; readonly name: string }
  | { readonly op: 'sessionCount' }
  | { readonly op: 'schedules'; readonly queue: string }
  | { readonly op: 'watch'; readonly on: boolean }
  | { readonly op: 'close' }

/** `id` 0: no answer is wanted. */
export interface Request {
  readonly id: number
  readonly operation: Operation
}

/**
 * A request to settle a job that has completed and has lost no run, which most requests are: its values alone. To copy an object to another thread costs more for the names
 * in it than for the values.
 */
export type PackedCompletion = readonly [id: number, session: number, seq: number, token: number, answer: Uint8Array]

export const packRequest = (request: Request): Request | PackedCompletion => {
  const { id, operation } = request
  if (operation.op !== 'settle' || operation.outcome.as !== 'completed' || operation.outcome.record !== undefined) return request
  return [id, operation.session, operation.lease.seq, operation.lease.token, operation.outcome.answer]
}

export const unpackRequest = (packed: Request | PackedCompletion): Request => {
  if (!('length' in packed)) return packed
  const [id, session, seq, token, answer] = packed
  return { id, operation: { op: 'settle', session, lease: { seq, token }, outcome: { as: 'completed', answer } } }
}

/** The values of a claimed job. */
type PackedJob = readonly [
  seq: number,
  token: number,
  id: string,
  queue: string,
  task: string,
  body: Uint8Array,
  priority: number,
  attempt: number,
  losses: number,
  requeues: number,
  unknownFor: number | undefined,
  redelivered: boolean,
  /** As few jobs have them. */
  rare: Pick<ClaimedJob, 'options' | 'expiresAt' | 'history' | 'results'> | undefined,
]

/** The answer to the claim with this id. */
export type PackedClaim = readonly [id: number, nextAt: number | undefined, jobs: readonly PackedJob[]]

const isEmpty = (value: object): boolean => {
  for (const _ in value) return false
  return true
}

const packJob = (job: ClaimedJob): PackedJob => {
  const { options, expiresAt, history, results, counts } = job
  const isPlain = expiresAt === undefined && results === undefined && history.length === 0 && isEmpty(options)
  return [
    job.seq,
    job.token,
    job.id,
    job.queue,
    job.task,
    job.body,
    job.priority,
    counts.attempt,
    counts.losses,
    counts.requeues,
    counts.unknownFor,
    job.redelivered,
    isPlain ? undefined : { options, expiresAt, history, results },
  ]
}

const unpackJob = ([seq, token, id, queue, task, body, priority, attempt, losses, requeues, unknownFor, redelivered, rare]: PackedJob): ClaimedJob => ({
  seq,
  token,
  id,
  queue,
  task,
  body,
  options: rare?.options ?? {},
  priority,
  expiresAt: rare?.expiresAt,
  counts: unknownFor === undefined ? { attempt, losses, requeues } : { attempt, losses, requeues, unknownFor },
  history: rare?.history ?? [],
  redelivered,
  results: rare?.results,
})

export const packClaim = (id: number, { jobs, nextAt }: Claim): PackedClaim => [id, nextAt, jobs.map(packJob)]

const unpackClaim = ([id, nextAt, jobs]: PackedClaim): [id: number, claim: Claim] => [id, { jobs: jobs.map(unpackJob), nextAt }]

/** An error as it crosses threads. `code`: of a StoreError; undefined: any other. */
export interface Failure {
  readonly name: string
  readonly message: string
  readonly code: string | undefined
}

export interface ConditionChange {
  readonly condition: StoreCondition
  readonly failure: Failure | undefined
}

/** One message for each turn of the thread. */
export interface ToHost {
  /** The thread is ready, or cannot open the file. */
  readonly opened?: Failure | true
  /** The socket that is to be removed when the process ends. */
  readonly socket?: string
  /** What was answered with true. */
  readonly done?: readonly number[]
  /** Pairs of id and value. */
  readonly answers?: readonly (readonly [number, unknown])[]
  readonly claims?: readonly PackedClaim[]
  readonly failures?: readonly (readonly [number, Failure])[]
  readonly events?: readonly StoreEvent[]
  /** There may be something to claim. */
  readonly work?: boolean
  /** The settings of a queue may have changed. */
  readonly settings?: boolean
  readonly cancels?: readonly { readonly session: number; readonly lease: Lease }[]
  readonly lost?: readonly number[]
  readonly conditions?: readonly ConditionChange[]
}

/** All answers of a message, by the ids of their requests. */
export const answersOf = function* ({ done = [], answers = [], claims = [] }: ToHost): Generator<readonly [id: number, value: unknown]> {
  for (const id of done) yield [id, true]
  yield* answers
  for (const claim of claims) yield unpackClaim(claim)
}

/**
 * Bytes that are alone in their memory. What is sent to a thread is copied with all the memory that it lies in: for a small Buffer that would be the
 * 8 KiB that many of them share.
 */
export const ownBytes = (bytes: Uint8Array): Uint8Array => (bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes))
