import { JOB_STATES, type JobSelector, type JobState, MAX_FOUND, type StoredJob, type StoredJobData } from '../../store.js'
import { DAMAGED_ANSWER, DAMAGED_BODY, readAnswer, readBody } from './claim.js'
import type { StoreContext } from './context.js'
import { errorOf, isEndState, type JobRow, jobRow, jobRows, STATE, storedJob } from './rows.js'

/** Priorities of one queue that are read one by one. Where there are more, all rows are read. */
const MAX_PRIORITIES = 50
/** Queues, states and priorities together, likewise. */
const MAX_SOURCES = 100

/** Reads rows of one kind, by `seq` upwards, after a `seq`. */
type Source = (after: number, limit: number) => JobRow[]

/** How far one selection may go. */
export interface Bounds {
  /** Rows that match, at most. */
  readonly most: number
  /** Rows that are read, at most. */
  readonly lookAt: number
  /** No row after this one. */
  readonly upTo?: number | undefined
}

export interface Selection {
  readonly rows: JobRow[]
  /** The last that was looked at: others may follow it. Undefined: none does. */
  readonly next: number | undefined
}

/** The next jobs that match, by `seq` upwards. `states`: those that are meant where the selector names none. */
export const selectRows = (
  context: StoreContext,
  selector: JobSelector,
  { most, lookAt, upTo = Number.MAX_SAFE_INTEGER }: Bounds,
  states?: readonly number[],
  isMeant: (row: JobRow) => boolean = () => true,
): Selection => {
  const { task, endedBefore, queue } = selector
  const endedUntil = endedBefore === undefined ? undefined : context.clock.now - endedBefore
  const wanted = selector.states?.map((state) => STATE[state]).filter((state) => states === undefined || states.includes(state)) ?? states
  const number = queue === undefined ? undefined : context.queues.find(queue)
  const matches = (row: JobRow): boolean =>
    (queue === undefined || row.queue === number) &&
    (wanted === undefined || wanted.includes(row.state)) &&
    (task === undefined || row.task === task) &&
    (endedUntil === undefined || (isEndState(row.state) && row.ended_at! < endedUntil)) &&
    isMeant(row)
  const sources = isNamed(selector) ? [named(context, selector)] : sourcesOf(context, selector, wanted)
  // A page of each source may be read for nothing.
  const page = Math.max(1, Math.min(most, Math.floor(lookAt / (4 * sources.length))))
  const rows: JobRow[] = []
  let left = lookAt - page * sources.length
  for (const row of inOrder(sources, selector.after ?? 0, page)) {
    if (row.seq > upTo) break
    if (matches(row)) rows.push(row)
    if (rows.length >= most || --left <= 0) return { rows, next: row.seq }
  }
  return { rows, next: undefined }
}

/** The rows of all sources, by `seq` upwards. Each source is read a page at a time. */
function* inOrder(sources: readonly Source[], after: number, size: number): Generator<JobRow> {
  const heads = sources.map((source) => ({ source, rows: source(after, size), at: 0 }))
  for (;;) {
    let first: (typeof heads)[number] | undefined
    for (const head of heads) {
      const row = head.rows[head.at]
      if (row !== undefined && (first === undefined || row.seq < first.rows[first.at]!.seq)) first = head
    }
    if (first === undefined) return
    const row = first.rows[first.at++]!
    yield row
    if (first.at < first.rows.length) continue
    first.at = 0
    first.rows = first.rows.length < size ? [] : first.source(row.seq, size)
  }
}

const queuesOf = ({ queues }: StoreContext, { queue }: JobSelector): number[] => {
  if (queue === undefined) return queues.all()
  const id = queues.find(queue)
  return id === undefined ? [] : [id]
}

const isNamed = ({ seq, ids }: JobSelector): boolean => seq !== undefined || ids !== undefined

/** The jobs that a selector names by id or seq. */
const named = (context: StoreContext, { seq, ids, ...selector }: JobSelector): Source => {
  const { sql } = context
  const queues = queuesOf(context, selector)
  const rows =
    seq === undefined
      ? queues.flatMap((queue) => [...new Set(ids)].flatMap((id) => jobRow(sql.jobById.get(queue, id)) ?? []))
      : jobRows(sql.jobBySeq.all(seq)).filter(({ queue, id }) => queues.includes(queue) && (ids === undefined || ids.includes(id)))
  rows.sort((a, b) => a.seq - b.seq)
  return (after, limit) => rows.filter((row) => row.seq > after).slice(0, limit)
}

const sourcesOf = (context: StoreContext, selector: JobSelector, states: readonly number[] | undefined): Source[] => {
  const everything: Source = (after, limit) => jobRows(context.sql.all.all(after, limit))
  if (selector.queue === undefined && states === undefined) return [everything]
  const sources: Source[] = []
  for (const queue of queuesOf(context, selector)) {
    for (const state of states ?? JOB_STATES.map((each) => STATE[each])) {
      const more = state === STATE.waiting ? waiting(context, queue) : [sourceOf(context, queue, state)]
      if (more === undefined || sources.length + more.length > MAX_SOURCES) return [everything]
      sources.push(...more)
    }
  }
  return sources
}

const sourceOf = ({ sql }: StoreContext, queue: number, state: number): Source => {
  if (state !== STATE.active) return (after, limit) => jobRows(sql.listed.all(queue, state, after, limit))
  // There are never more than the sessions can run.
  const rows = jobRows(sql.active.all()).filter((row) => row.queue === queue)
  rows.sort((a, b) => a.seq - b.seq)
  return (after, limit) => rows.filter(({ seq }) => seq > after).slice(0, limit)
}

/** The index has them by priority first: each priority that there is is a source. Undefined: there are too many. */
const waiting = ({ sql }: StoreContext, queue: number): Source[] | undefined => {
  const sources: Source[] = []
  for (let below = Number.MAX_SAFE_INTEGER; ; ) {
    const row = sql.nextPriority.get(queue, below)
    if (row === undefined) return sources
    if (sources.length === MAX_PRIORITIES) return undefined
    const priority = row.priority as number
    below = priority
    sources.push((after, limit) => jobRows(sql.waitingAfter.all(queue, priority, after, limit)))
  }
}

const view = ({ sql, queues, clock }: StoreContext, row: JobRow): StoredJob => {
  const error = row.state === STATE.completed ? undefined : errorOf(sql.error.get(row.seq)?.error)
  return storedJob(row, queues.nameOf(row.queue), clock.shift, error)
}

/** Jobs of one page, or a part of them. */
export interface Found {
  readonly jobs: StoredJob[]
  /** Where the search goes on; undefined: all have been looked at. */
  readonly next: number | undefined
}

export const find = (context: StoreContext, selector: JobSelector): Found => {
  const most = Math.min(selector.limit ?? 100, 1_000)
  const { rows, next } = selectRows(context, selector, { most, lookAt: MAX_FOUND })
  return { jobs: rows.map((row) => view(context, row)), next: rows.length >= most ? undefined : next }
}

/** A job whose body or answer is damaged is shown as failed. */
export const read = (context: StoreContext, queue: string, id: string): StoredJobData | undefined => {
  const number = context.queues.find(queue)
  const row = number === undefined ? undefined : jobRow(context.sql.jobById.get(number, id))
  if (row === undefined) return undefined
  const job = view(context, row)
  const body = readBody(context, row.seq)
  const answer = row.state === STATE.completed ? readAnswer(context, row) : undefined
  const progress = context.sql.outcomeHead.get(row.seq)?.progress as Uint8Array | null | undefined
  const data = { ...job, body: body ?? new Uint8Array(0), answer: answer === 'damaged' ? undefined : answer, progress: progress ?? undefined }
  if (answer === 'damaged') return { ...data, ...failedBy(DAMAGED_ANSWER) }
  return body === undefined && !isEndState(row.state) ? { ...data, ...failedBy(DAMAGED_BODY) } : data
}

const failedBy = ({ reason, error }: typeof DAMAGED_BODY): Pick<StoredJob, 'state' | 'reason' | 'error'> => ({ state: 'failed', reason, error })

export const counts = ({ sql, queues }: StoreContext, names: readonly string[] | undefined): Record<string, Record<JobState, number>> => {
  const named = names ?? queues.all().map((queue) => queues.nameOf(queue))
  const all = named.map((name): [string, Record<JobState, number>] => {
    const queue = queues.find(name)
    const stored = new Map(queue === undefined ? [] : sql.counters.all(queue).map(({ state, n }) => [state, n as number]))
    return [name, Object.fromEntries(JOB_STATES.map((state) => [state, stored.get(STATE[state]) ?? 0])) as Record<JobState, number>]
  })
  return Object.fromEntries(names === undefined ? all.filter(([, byState]) => Object.values(byState).some((n) => n > 0)) : all)
}
