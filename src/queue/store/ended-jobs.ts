/** Jobs that have ended: why by something else than their task, and how long they are kept. The same in every store. */
import type { Counts, HistoryEntry, SerializedError } from '../../runtime/delivery.js'
import { withHistory } from '../../runtime/message/serialized-error.js'
import type { JobState, Retention, StoredOptions } from './store.js'

const HOUR = 3_600_000

/** How long ended jobs are kept where neither job nor queue says: ms, and jobs of a queue. */
export const DEFAULT_RETENTION = {
  completed: { age: HOUR, count: 10_000 },
  failed: { age: 7 * 24 * HOUR, count: 10_000 },
} as const satisfies Retention

export const END_STATES = ['completed', 'failed', 'expired', 'cancelled'] as const satisfies readonly JobState[]
export type EndState = (typeof END_STATES)[number]

export const isEnded = (state: JobState): state is EndState => (END_STATES as readonly JobState[]).includes(state)

/**
 * How long a job that ends is kept, ms, and until how many others of its queue and state have ended; Infinity: no bound. One with a count of 0 is
 * not kept, and does not count for others. Expired and cancelled jobs are kept like failed ones, each state with a count of its own.
 */
export const retentionOf = ({ keep }: StoredOptions, state: EndState): { readonly age: number; readonly count: number } => {
  const kind = state === 'completed' ? 'completed' : 'failed'
  const given = keep?.[kind]
  return { age: given?.age ?? DEFAULT_RETENTION[kind].age, count: given?.count ?? DEFAULT_RETENTION[kind].count }
}

export interface EndReason {
  readonly reason: 'cancelled' | 'dependency' | 'expired'
  readonly error: SerializedError
}

const errorOf = (name: string, code: string, message: string): SerializedError => ({ name, message, stack: undefined, code })

/** A user has cancelled it. */
export const CANCELLED: EndReason = { reason: 'cancelled', error: errorOf('CancelledError', 'ERR_PREFORK_CANCELLED', 'The job was cancelled.') }

/** Its `expiresAt` has passed before it began. */
export const EXPIRED: EndReason = { reason: 'expired', error: errorOf('ExpiredError', 'ERR_PREFORK_EXPIRED', 'It expired before it began.') }

/** What it depended on, the job with this id, failed, expired or was cancelled, or was removed before it had ended. */
export const dependencyFailed = (id: string): EndReason => ({
  reason: 'dependency',
  error: errorOf('DependencyError', 'ERR_PREFORK_DEPENDENCY', `The job '${id}', on which it depends, did not succeed.`),
})

/** It waits again because its session died after it had begun. */
export const SESSION_LOST: SerializedError = errorOf(
  'NodeLostError',
  'ERR_PREFORK_NODE_LOST',
  'The process that ran it died, or was taken for dead: the job runs again.',
)

/** The counts of a job as they are shown: while it runs, with the runs of its claim that were lost. `begun`: how often it has begun under that claim. */
export const shownCounts = (counts: Counts, state: JobState, begun: number): Counts =>
  state === 'active' && begun > 1 ? { ...counts, losses: counts.losses + begun - 1 } : counts

/** The history of a job whose last run ended with its session. `node`: the name of the session's node. */
export const withSessionLoss = (history: readonly HistoryEntry[], { attempt }: Counts, node: string, at: number): readonly HistoryEntry[] =>
  withHistory(history, { attempt, at, node, outcome: 'lost', error: `ended with node '${node}': its process died, or was taken for dead` })
