import { JOB_STATES, type JobSelector, type JobState, type StoredJob, type StoredJobData } from '../../store.js'
import { DAMAGED_ANSWER, DAMAGED_BODY, readAnswer, readBody } from './claim.js'
import type { StoreContext } from './context.js'
import { errorOf, isEndState, type JobRow, jobRow, jobRows, STATE, storedJob } from './rows.js'

/** Rows that are read at once to find those that match. */
const PAGE = 1_000

/** Reads rows of one kind, by `seq` upwards, after a `seq`. */
type Source = (after: number, limit: number) => JobRow[]

/** Jobs that match, by `seq` upwards. `states`: those that are meant where the selector names none. */
export const selectRows = (
  context: StoreContext,
  selector: JobSelector,
  limit: number,
  states: readonly number[] | undefined,
  isMeant: (row: JobRow) => boolean = () => true,
): JobRow[] => {
  const { task, endedBefore } = selector
  const endedUntil = endedBefore === undefined ? undefined : context.clock.now - endedBefore
  const wanted = selector.states?.map((state) => STATE[state]).filter((state) => states === undefined || states.includes(state)) ?? states
  const matches = (row: JobRow): boolean =>
    (wanted === undefined || wanted.includes(row.state)) &&
    (task === undefined || row.task === task) &&
    (endedUntil === undefined || (isEndState(row.state) && row.ended_at! < endedUntil)) &&
    isMeant(row)
  const sources = isNamed(selector) ? [named(context, selector)] : sourcesOf(context, selector, wanted)
  const found = sources.flatMap((source) => firstMatching(source, matches, selector.after ?? 0, limit))
  return found.sort((a, b) => a.seq - b.seq).slice(0, limit)
}

const firstMatching = (source: Source, matches: (row: JobRow) => boolean, after: number, limit: number): JobRow[] => {
  const found: JobRow[] = []
  for (let last = after; found.length < limit; ) {
    // Most rows match where only states are asked for.
    const size = last === after ? Math.min(limit, PAGE) : PAGE
    const page = source(last, size)
    for (const row of page) if (matches(row) && found.length < limit) found.push(row)
    if (page.length < size) break
    last = page.at(-1)!.seq
  }
  return found
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
  const { sql } = context
  if (selector.queue === undefined && states === undefined) return [(after, limit) => jobRows(sql.all.all(after, limit))]
  const queues = queuesOf(context, selector)
  return queues.flatMap((queue) => (states ?? JOB_STATES.map((state) => STATE[state])).map((state) => sourceOf(context, queue, state)))
}

const sourceOf = (context: StoreContext, queue: number, state: number): Source => {
  const { sql } = context
  if (state === STATE.waiting) return (after, limit) => waitingAfter(context, queue, after, limit)
  if (state === STATE.active) {
    // There are never more than the sessions can run.
    const rows = jobRows(sql.active.all()).filter((row) => row.queue === queue)
    rows.sort((a, b) => a.seq - b.seq)
    return (after, limit) => rows.filter(({ seq }) => seq > after).slice(0, limit)
  }
  return (after, limit) => jobRows(sql.listed.all(queue, state, after, limit))
}

/** The index has them by priority first: each priority that there is gives its first ones. */
const waitingAfter = ({ sql }: StoreContext, queue: number, after: number, limit: number): JobRow[] => {
  const found: JobRow[] = []
  for (let below = Number.MAX_SAFE_INTEGER; ; ) {
    const row = sql.nextPriority.get(queue, below)
    if (row === undefined) break
    below = row.priority as number
    found.push(...jobRows(sql.waitingAfter.all(queue, below, after, limit)))
  }
  return found.sort((a, b) => a.seq - b.seq).slice(0, limit)
}

const view = ({ sql, queues, clock }: StoreContext, row: JobRow): StoredJob => {
  const error = row.state === STATE.completed ? undefined : errorOf(sql.error.get(row.seq)?.error)
  return storedJob(row, queues.nameOf(row.queue), clock.shift, error)
}

export const find = (context: StoreContext, selector: JobSelector): StoredJob[] =>
  selectRows(context, selector, Math.min(selector.limit ?? 100, 1_000), undefined).map((row) => view(context, row))

/** A job whose body or answer is damaged is shown as failed. */
export const read = (context: StoreContext, queue: string, id: string): StoredJobData | undefined => {
  const number = context.queues.find(queue)
  const row = number === undefined ? undefined : jobRow(context.sql.jobById.get(number, id))
  if (row === undefined) return undefined
  const job = view(context, row)
  const body = readBody(context, row.seq)
  const answer = row.state === STATE.completed ? readAnswer(context, row.seq) : undefined
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
