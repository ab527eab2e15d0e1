/** What the host and the thread of a store say to each other. */
import type { JobChange, JobSelector, Lease, NewJob, Outcome, QueueState, StoreCondition, StoredSchedule, StoreEvent } from '../store.js'

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
  | { readonly op: 'began'; readonly session: number; readonly lease: Lease; readonly atOnce: boolean }
  | { readonly op: 'progress'; readonly session: number; readonly lease: Lease; readonly value: Uint8Array }
  | { readonly op: 'find'; readonly selector: JobSelector }
  | { readonly op: 'read'; readonly queue: string; readonly id: string }
  | { readonly op: 'counts'; readonly queues: readonly string[] | undefined }
  | { readonly op: 'readQueue'; readonly name: string }
  | { readonly op: 'schedules'; readonly queue: string }
  | { readonly op: 'watch'; readonly on: boolean }
  | { readonly op: 'close' }

/** `id` 0: no answer is wanted. */
export interface Request {
  readonly id: number
  readonly operation: Operation
}

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
  /** Pairs of id and value. */
  readonly answers?: readonly (readonly [number, unknown])[]
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

/**
 * Bytes that are alone in their memory. What is sent to a thread is copied with all the memory that it lies in: for a small Buffer that would be the
 * 8 KiB that many of them share.
 */
export const ownBytes = (bytes: Uint8Array): Uint8Array => (bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes))
