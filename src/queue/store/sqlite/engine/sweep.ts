import { EXPIRED } from '../../ended-jobs.js'
import type { Row } from '../database/node-sqlite.js'
import type { StoreContext } from './context.js'
import { end, remove } from './end.js'
import { isEndState, type JobRow, jobRow, jobRows, STATE, TIMING } from './rows.js'

/** Rows that one transaction moves, at most. */
const SLICE = 1_000
/** Ended jobs that one transaction removes: their rows are all over the file. */
const REMOVED_SLICE = 100

/** What handles the things that are due. Every store ends what expired and removes what is over; a session lets retries go; one with schedulers lets go what users delayed. */
export interface Sweeper {
  readonly sessions: boolean
  readonly schedulers: boolean
}

/** Handles what is due. True: there is more. */
export const sweep = (context: StoreContext, sweeper: Sweeper): boolean => {
  const { sql, clock } = context
  let more = false
  const each = (rows: Row[], limit: number, change: (row: JobRow) => void): void => {
    for (const row of jobRows(rows)) change(row)
    more ||= rows.length === limit
  }
  each(sql.expired.all(clock.now, SLICE), SLICE, (row) => expire(context, row.seq))
  if (more) return true
  for (const timing of timingsOf(sweeper)) {
    const due = timing === TIMING.at ? clock.now : clock.relative
    each(sql.due.all(timing, due, SLICE), SLICE, (row) => promote(context, row))
    if (more) return true
  }
  each(sql.over.all(clock.now, REMOVED_SLICE), REMOVED_SLICE, (row) => removeOver(context, row))
  const keys = sql.dedupOver.all(clock.now, SLICE)
  for (const { queue, key, seq } of keys) sql.deleteDedup.run(queue!, key!, seq!)
  more ||= keys.length === SLICE
  return more
}

const timingsOf = ({ sessions, schedulers }: Sweeper): number[] => [...(sessions ? [TIMING.retry] : []), ...(schedulers ? [TIMING.at, TIMING.delay] : [])]

/** It may have ended, or begun to wait, with one before it that it depended on. */
const expire = (context: StoreContext, seq: number): void => {
  const row = jobRow(context.sql.jobBySeq.get(seq))
  if (row !== undefined && row.state !== STATE.active && !isEndState(row.state)) end(context, row, STATE.expired, EXPIRED)
}

/** A job that is delayed waits. */
export const promote = (context: StoreContext, row: JobRow): void => {
  context.sql.promote.run(row.seq)
  context.counters.moved(row.queue, STATE.delayed, STATE.waiting)
  context.emit('waiting', row.queue, row.id, row.seq)
  context.ready(row.queue)
}

/** What another job still needs is looked at again later. */
const removeOver = (context: StoreContext, row: JobRow): void => {
  const LATER = 60_000
  if (!remove(context, row, false)) context.sql.keepUntil.run(row.seq, context.clock.now + LATER)
}

const at = (row: Row | undefined, shift = 0): number => (row === undefined ? Number.POSITIVE_INFINITY : Number(row.at) + shift)

const known = (time: number): number | undefined => (time === Number.POSITIVE_INFINITY ? undefined : time)

/** When a delayed job is due, ms since the epoch; undefined: none is delayed. */
export const nextPromotion = ({ sql, clock }: StoreContext, schedulers: boolean): number | undefined => {
  const retry = at(sql.nextDue.get(TIMING.retry), clock.shift)
  if (!schedulers) return known(retry)
  return known(Math.min(retry, at(sql.nextDue.get(TIMING.at)), at(sql.nextDue.get(TIMING.delay), clock.shift)))
}

/** When there is something to sweep, or a schedule has a tick, ms since the epoch. */
export const nextSweep = (context: StoreContext, { sessions, schedulers }: Sweeper): number | undefined =>
  known(
    Math.min(
      at(context.sql.nextExpiry.get()),
      at(context.sql.nextRemoval.get()),
      at(context.sql.nextDedupOver.get()),
      sessions ? (nextPromotion(context, schedulers) ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY,
      schedulers ? at(context.sql.nextSchedule.get()) : Number.POSITIVE_INFINITY,
    ),
  )
