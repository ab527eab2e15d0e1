import { CANCELLED } from '../../ended-jobs.js'
import { type JobChange, type JobSelector, MAX_ALTERED } from '../../store.js'
import type { StoreContext } from './context.js'
import { dueState, end, remove } from './end.js'
import { selectRows } from './find.js'
import { isEndState, type JobRow, jobRow, jobRows, STATE } from './rows.js'
import { promote } from './sweep.js'

const isUnbegun = ({ state }: JobRow): boolean => state === STATE.waiting || state === STATE.delayed || state === STATE.blocked

const MEANT: Readonly<Record<JobChange, { readonly states: readonly number[]; readonly isMeant: (row: JobRow) => boolean }>> = {
  cancel: {
    states: [STATE.waiting, STATE.delayed, STATE.active, STATE.blocked],
    isMeant: (row) => isUnbegun(row) || (row.state === STATE.active && row.cancel === 0),
  },
  retry: { states: [STATE.failed, STATE.expired, STATE.cancelled], isMeant: ({ state }) => isEndState(state) && state !== STATE.completed },
  promote: { states: [STATE.delayed], isMeant: ({ state }) => state === STATE.delayed },
  remove: {
    states: [STATE.waiting, STATE.delayed, STATE.blocked, STATE.completed, STATE.failed, STATE.expired, STATE.cancelled],
    isMeant: ({ state }) => state !== STATE.active,
  },
}

/** What one transaction of a change has done. */
export interface Altered {
  readonly ids: readonly string[]
  /** Where the change goes on, and the last job that there was when it began; undefined: it is done. */
  readonly next: { readonly after: number; readonly upTo: number } | undefined
}

/** Changes the next jobs that match and that the change is meant for. `upTo`: as an earlier call of the same change has said. */
export const alter = (context: StoreContext, selector: JobSelector, change: JobChange, upTo?: number): Altered => {
  const { states, isMeant } = MEANT[change]
  const last = upTo ?? Number(context.sql.lastSeq.get()?.seq ?? 0)
  const { limit = Number.POSITIVE_INFINITY } = selector
  const { rows, next } = selectRows(context, selector, { most: Math.min(limit, MAX_ALTERED), lookAt: MAX_ALTERED, upTo: last }, states, isMeant)
  const ids = rows.flatMap(({ seq }) => {
    // One of them may have ended with another that it depended on.
    const row = jobRow(context.sql.jobBySeq.get(seq))
    if (row === undefined || !isMeant(row)) return []
    alterOne(context, row, change)
    return [row.id]
  })
  return { ids, next: next === undefined || rows.length >= limit ? undefined : { after: next, upTo: last } }
}

const alterOne = (context: StoreContext, row: JobRow, change: JobChange): void => {
  if (change === 'retry') again(context, row)
  else if (change === 'promote') promote(context, row)
  else if (change === 'remove') removeNow(context, row)
  else if (row.state !== STATE.active) end(context, row, STATE.cancelled, CANCELLED)
  else {
    context.sql.requestCancel.run(row.seq)
    context.effects.cancels = true
  }
}

/** For those that depend on it, it has failed. */
const removeNow = (context: StoreContext, row: JobRow): void => {
  if (!isEndState(row.state)) end(context, row, STATE.cancelled, CANCELLED)
  remove(context, jobRow(context.sql.jobBySeq.get(row.seq))!, true)
}

/** It waits again as if it were new, with its history. What it depends on and has failed does not keep it back a second time. */
const again = (context: StoreContext, row: JobRow): void => {
  const { sql, counters } = context
  const unfinished = row.pending === null ? 0 : jobRows(sql.dependencies.all(row.seq)).filter(({ state }) => !isEndState(state)).length
  const state = unfinished > 0 ? STATE.blocked : dueState(context, 0, null)
  sql.again.run(row.seq, state, row.pending === null ? null : unfinished)
  sql.clearProgress.run(row.seq)
  // Those that wait for others still wait for it too, again.
  for (const dependent of row.awaited === 1 ? jobRows(sql.dependents.all(row.seq)) : []) {
    if (dependent.state === STATE.blocked) sql.setPending.run(dependent.seq, (dependent.pending ?? 0) + 1)
  }
  if (row.dedup !== null) sql.deleteDedup.run(row.queue, row.dedup, row.seq)
  counters.moved(row.queue, row.state, state)
  if (state !== STATE.waiting) return
  context.emit('waiting', row.queue, row.id, row.seq)
  context.ready(row.queue)
}
