import type { HistoryEntry, RunRecord } from '../../../../runtime/delivery.js'
import { CANCELLED, SESSION_LOST, withSessionLoss } from '../../ended-jobs.js'
import type { Lease, Outcome } from '../../store.js'
import type { StoreContext } from './context.js'
import { end, ended, keep } from './end.js'
import { checksumOf, countColumns, countsOf, type EndingRow, type HeldRow, historyOf, historyText, type JobRow, STATE, TIMING } from './rows.js'

/** Undefined: the claim is over. */
const heldRow = ({ sql }: StoreContext, { seq, token }: Lease): HeldRow | undefined => sql.claimed.get(seq, token) as unknown as HeldRow | undefined

/** Ends a claim. False: it is over already, or the job was cancelled before and has ended so. */
export const settle = (context: StoreContext, lease: Lease, outcome: Outcome): boolean => {
  const known = context.claimed.take(lease)
  if (outcome.as === 'completed' && outcome.record === undefined && known !== undefined && completeKnown(context, known, lease, outcome.answer)) return true
  const row = heldRow(context, lease)
  if (row === undefined) return false
  if (row.cancel === 1 && (outcome.as === 'completed' || outcome.as === 'failed' || outcome.as === 'expired')) {
    end(context, row, STATE.cancelled, { ...(outcome.as === 'completed' ? outcome.record : outcome), ...CANCELLED })
    return false
  }
  if (outcome.as === 'completed') complete(context, row, outcome.answer, outcome.record)
  else if (outcome.as === 'release') giveBack(context, row)
  else if (outcome.as === 'retry') retry(context, row, outcome)
  else end(context, row, STATE[outcome.as], outcome)
  return true
}

/** Bytes of an answer that is stored in the job's row, at most. An empty one is not: Node 22 binds it as NULL. */
const MAX_SHORT = 64

/** What of an answer goes into the job's row. */
const storedAnswer = (answer: Uint8Array): { readonly short: Uint8Array | null; readonly checksum: number | null } => {
  const isShort = answer.length > 0 && answer.length <= MAX_SHORT
  return isShort ? { short: answer, checksum: checksumOf(answer) } : { short: null, checksum: null }
}

const setAnswer = ({ sql }: StoreContext, seq: number, answer: Uint8Array): void => {
  sql.setAnswer.run(seq, checksumOf(answer), answer)
}

const complete = (context: StoreContext, row: HeldRow, answer: Uint8Array, record: RunRecord | undefined): void => {
  const { sql, clock } = context
  const { seq } = row
  const { until, to, count } = keep(context, row.queue, STATE.completed, row.options)
  const { short, checksum } = storedAnswer(answer)
  sql.complete.run(seq, clock.now, until, to, short, checksum)
  if (record !== undefined) sql.setRecord.run(seq, record.counts.losses, historyText(record.history))
  if (short === null) setAnswer(context, seq, answer)
  context.counters.hasEnded(row.queue, STATE.completed, count)
  ended(context, row, STATE.active, STATE.completed)
}

/** Completes a job by what its claim has read, without reading it again. False: nothing was done, as the claim is over, or the job's row must be read. */
const completeKnown = (context: StoreContext, row: EndingRow, { seq, token }: Lease, answer: Uint8Array): boolean => {
  const { sql, clock } = context
  const { until, to, count } = keep(context, row.queue, STATE.completed, row.options)
  const { short, checksum } = storedAnswer(answer)
  if (sql.completeKnown.run(seq, token, clock.now, until, to, short, checksum).changes === 0) return false
  if (short === null) setAnswer(context, seq, answer)
  context.counters.hasEnded(row.queue, STATE.completed, count)
  ended(context, row, STATE.active, STATE.completed)
  return true
}

const retry = (context: StoreContext, row: HeldRow, { delay, counts, history, error }: Outcome & { readonly as: 'retry' }): void => {
  const { sql, clock } = context
  if (row.cancel === 1) {
    end(context, row, STATE.cancelled, { ...CANCELLED, counts, history })
    return
  }
  const state = delay > 0 ? STATE.delayed : STATE.waiting
  const runAt = Math.ceil(clock.relative + delay)
  sql.giveBack.run(row.seq, state, TIMING.retry, runAt, ...countColumns(counts), historyText(history))
  sql.setError.run(row.seq, JSON.stringify(error))
  context.counters.moved(row.queue, STATE.active, state)
  context.emit('retrying', row.queue, row.id, row.seq)
  if (state === STATE.waiting) context.ready(row.queue)
}

/** It waits again as before; a job that is to be cancelled ends. `record`: what has changed of it. */
export const giveBack = (context: StoreContext, row: HeldRow, record?: RunRecord): void => {
  if (row.cancel === 1) {
    end(context, row, STATE.cancelled, { ...CANCELLED, ...record })
    return
  }
  const { counts = countsOf(row), history } = record ?? {}
  const text = history === undefined ? row.history : historyText(history)
  context.sql.giveBack.run(row.seq, STATE.waiting, row.timing, row.run_at, ...countColumns(counts), text)
  context.counters.moved(row.queue, STATE.active, STATE.waiting)
  context.emit('waiting', row.queue, row.id, row.seq)
  context.ready(row.queue)
}

/** The session that held it is dead: what had begun counts a loss for each beginning, what had not a requeue. The node that claims it next admits or ends it. */
export const lose = (context: StoreContext, row: JobRow): void => {
  const counts = countsOf(row)
  const history = historyOf(row.history)
  if (row.begun === 0) {
    giveBack(context, row, { counts: { ...counts, requeues: counts.requeues + 1 }, history })
    return
  }
  context.sql.setError.run(row.seq, JSON.stringify(SESSION_LOST))
  context.emit('stalled', row.queue, row.id, row.seq)
  giveBack(context, row, {
    counts: { ...counts, losses: counts.losses + row.begun },
    history: withSessionLoss(history, counts, row.node ?? '', context.clock.now),
  })
}

export const began = ({ sql }: StoreContext, { seq, token }: Lease, beginnings: number, history: readonly HistoryEntry[] | undefined): void => {
  if (history === undefined) sql.began.run(seq, token, beginnings)
  else sql.beganAgain.run(seq, token, beginnings, historyText(history))
}

export const progress = (context: StoreContext, { seq, token }: Lease, value: Uint8Array): void => {
  const row = heldRow(context, { seq, token })
  if (row === undefined) return
  context.sql.setProgress.run(seq, value)
  context.emit('progress', row.queue, row.id, seq)
}
