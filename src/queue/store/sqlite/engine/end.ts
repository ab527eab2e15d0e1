import type { Counts, HistoryEntry, SerializedError } from '../../../../runtime/delivery.js'
import { DEFAULT_RETENTION, dependencyFailed, type EndState, retentionOf } from '../../ended-jobs.js'
import type { StoreContext } from './context.js'
import { countColumns, countsOf, type EndingRow, type JobRow, jobRow, jobRows, optionsOf, type RemovedRow, STATE, stateName, TIMING } from './rows.js'

/** How a job ends that does not complete. */
export interface End {
  readonly reason: string
  readonly error: SerializedError
  /** Undefined: as they were. */
  readonly counts?: Counts
  readonly history?: readonly HistoryEntry[]
}

/** Ended jobs that one transaction removes, of one queue and state, beyond those that may be too many: the rest waits for the next one. */
const TRIM_SLICE = 100

/** Ends after which a job that was still needed is looked at again, at least. */
const LOOK_AGAIN = 1_000

/** Without options it is the default. */
const retention = (options: string | null, state: number): { readonly age: number; readonly count: number } => {
  const as = stateName(state) as EndState
  const plain = options === null || !options.includes('"keep"')
  return plain ? DEFAULT_RETENTION[as === 'completed' ? 'completed' : 'failed'] : retentionOf(optionsOf(options), as)
}

export interface Kept {
  /** ms since the epoch. */
  readonly until: number | null
  /** Until the job with this number has ended. */
  readonly to: number
  /** Until so many more have ended. */
  readonly count: number
}

/** How long a job that ends now is kept. */
export const keep = ({ clock, counters }: StoreContext, queue: number, state: number, options: string | null): Kept => {
  const { age, count } = retention(options, state)
  return {
    until: age === Number.POSITIVE_INFINITY ? null : clock.now + age,
    to: counters.lastEnded(queue, state) + (count > 0 ? 1 : 0) + count,
    count,
  }
}

/** A job that was `from` has ended: what depended on it is released, or fails with it. */
export const ended = (context: StoreContext, row: EndingRow, from: number, state: number): void => {
  const failing = endedOne(context, row, from, state)
  // A list, not a recursion: a chain may be long.
  for (const { seq, dependency } of failing) {
    const dependent = jobRow(context.sql.jobBySeq.get(seq))!
    // It may have depended on two of them.
    if (dependent.state !== STATE.blocked) continue
    endRow(context, dependent, STATE.failed, dependencyFailed(dependency))
    failing.push(...endedOne(context, dependent, dependent.state, STATE.failed))
  }
}

/** Ends a job, and those that fail with it. */
export const end = (context: StoreContext, row: EndingRow, state: number, how: End): void => {
  endRow(context, row, state, how)
  ended(context, row, row.state, state)
}

const endRow = (context: StoreContext, row: EndingRow, state: number, { reason, error, counts = countsOf(row), history }: End): void => {
  const { sql, clock } = context
  const { until, to, count } = keep(context, row.queue, state, row.options)
  const text = history === undefined ? row.history : JSON.stringify(history)
  sql.end.run(row.seq, state, clock.now, until, to, reason, ...countColumns(counts), text)
  sql.setError.run(row.seq, JSON.stringify(error))
  context.counters.hasEnded(row.queue, state, count)
}

interface FailingJob {
  readonly seq: number
  /** The id of the job because of which it is to fail. */
  readonly dependency: string
}

/** Returns the jobs that are to fail because it did. */
const endedOne = (context: StoreContext, row: EndingRow, from: number, state: number): FailingJob[] => {
  context.counters.moved(row.queue, from, state)
  context.emit(stateName(state) as EndState, row.queue, row.id, row.seq)
  // Another job may be retried: it needs the answers of what it depended on then.
  if (row.pending !== null && state === STATE.completed) context.sql.deleteEdgesTo.run(row.seq)
  return row.awaited === 0 ? [] : release(context, row, state === STATE.completed)
}

/** Releases what depended on a job. Returns those that are to fail instead. */
const release = (context: StoreContext, ended: EndingRow, succeeded: boolean): FailingJob[] => {
  const failing: FailingJob[] = []
  for (const row of jobRows(context.sql.dependents.all(ended.seq))) {
    if (row.state !== STATE.blocked) continue
    if (!succeeded && row.tolerant === 0) failing.push({ seq: row.seq, dependency: ended.id })
    else resolve(context, row)
  }
  return failing
}

const resolve = (context: StoreContext, row: JobRow): void => {
  const { sql } = context
  const pending = Math.max(0, (row.pending ?? 0) - 1)
  sql.setPending.run(row.seq, pending)
  if (pending > 0) return
  const state = dueState(context, row.timing, row.run_at)
  sql.setState.run(row.seq, state)
  context.counters.moved(row.queue, STATE.blocked, state)
  context.emit(state === STATE.waiting ? 'waiting' : 'delayed', row.queue, row.id, row.seq)
  if (state === STATE.waiting) context.ready(row.queue)
}

/** Whether a job that nothing holds back waits, or is delayed. */
export const dueState = ({ clock }: StoreContext, timing: number, runAt: number | null): number =>
  runAt !== null && runAt > (timing === TIMING.at ? clock.now : clock.relative) ? STATE.delayed : STATE.waiting

/** Removes a job that is not active. Its answer stays for as long as a job that depends on it has not ended: false then. */
export const remove = ({ sql, counters, clock }: StoreContext, { seq, queue, id, state, awaited, pending, dedup }: RemovedRow, force: boolean): boolean => {
  if (awaited === 1) {
    if (!force && sql.edgeFrom.get(seq) !== undefined) return false
    sql.deleteEdgesFrom.run(seq)
  }
  sql.deleteJob.run(seq)
  sql.deleteBody.run(seq)
  sql.deleteOutcome.run(seq)
  if (pending !== null) sql.deleteEdgesTo.run(seq)
  // Its key lasts for its own time, unless a user removes the job.
  if (dedup !== null && (force || sql.outliveJob.run(queue, dedup, seq, id, state, clock.now).changes === 0)) sql.deleteDedup.run(queue, dedup, seq)
  counters.change(queue, state, -1)
  return true
}

/** Removes the jobs after which as many have ended as they were to be kept for, or up to 1 % more where those are many. */
export const trim = (context: StoreContext): void => {
  const { sql, counters } = context
  for (const { queue, state, last, surplus } of counters.takeTrims()) {
    for (const row of sql.surplus.all(queue, state, last, surplus + TRIM_SLICE) as unknown as (RemovedRow & Pick<JobRow, 'options'>)[]) {
      // What another job still needs is looked at again later: not with each end, as there may be many.
      if (!remove(context, row, false)) sql.keepTo.run(row.seq, last + Math.max(LOOK_AGAIN, retention(row.options, state).count))
    }
  }
}
