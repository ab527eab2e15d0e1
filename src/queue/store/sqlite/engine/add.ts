import { runAtOf } from '../../clock-jumps.js'
import { dependencyFailed } from '../../ended-jobs.js'
import { unknownDependency } from '../../errors.js'
import type { AddedJob, NewJob } from '../../store.js'
import type { StoreContext } from './context.js'
import { dueState, end } from './end.js'
import { checksumOf, isEndState, type JobRow, jobRow, optionsText, STATE, stateName, TIMING } from './rows.js'

/** Adds jobs, in their order: a job may depend on those before it. Throws for a dependency that is not there; the transaction is to be rolled back then. */
export const add = (context: StoreContext, jobs: readonly NewJob[]): AddedJob[] => jobs.map((job) => addOne(context, job))

const addOne = (context: StoreContext, job: NewJob): AddedJob => {
  const { sql, queues } = context
  const queue = queues.idOf(job.queue)
  const present = jobRow(sql.jobById.get(queue, job.id)) ?? withSameKey(context, queue, job)
  if (present !== undefined) return { seq: present.seq, id: present.id, state: stateName(present.state), added: false }
  const dependencies = job.dependsOn.length === 0 ? undefined : dependenciesOf(context, queue, job)
  const { seq, state } = insert(context, queue, job, dependencies)
  return { seq, id: job.id, state: stateName(state), added: true }
}

/** The job that stands for the `dedup` key of another. */
const withSameKey = ({ sql, clock }: StoreContext, queue: number, { dedup }: NewJob): Pick<JobRow, 'seq' | 'id' | 'state'> | undefined => {
  const row = dedup === undefined ? undefined : sql.dedup.get(queue, dedup.key)
  if (row === undefined) return undefined
  const lasts = Number(row.until) > clock.now
  // The job is kept no longer.
  if (row.state !== null) return lasts ? { seq: row.seq as number, id: row.id as string, state: row.state as number } : undefined
  const job = jobRow(sql.jobBySeq.get(row.seq!))
  return job !== undefined && (!isEndState(job.state) || lasts) ? job : undefined
}

const dependenciesOf = ({ sql }: StoreContext, queue: number, job: NewJob): JobRow[] =>
  [...new Set(job.dependsOn)].map((id) => {
    const row = jobRow(sql.jobById.get(queue, id))
    if (row === undefined) throw unknownDependency(job.id, job.queue, id)
    return row
  })

const insert = (context: StoreContext, queue: number, job: NewJob, dependencies: readonly JobRow[] | undefined): { seq: number; state: number } => {
  const { sql, clock, counters } = context
  const { dedup, relative } = job
  const wanted = runAtOf(job, clock.offset)
  const runAt = wanted === undefined ? null : relative ? wanted - clock.shift : wanted
  const timing = relative ? TIMING.delay : TIMING.at
  const tolerant = job.onFailedDependency === 'run'
  const unfinished = dependencies?.filter(({ state }) => !isEndState(state)).length ?? 0
  const failed = tolerant ? undefined : dependencies?.find(({ state }) => isEndState(state) && state !== STATE.completed)
  const state = failed !== undefined || unfinished > 0 ? STATE.blocked : dueState(context, timing, runAt)
  const { lastInsertRowid } = sql.insertJob.run(
    queue,
    job.id,
    job.task,
    state,
    job.priority,
    timing,
    runAt,
    job.expiresAt ?? null,
    dependencies === undefined ? null : unfinished,
    tolerant ? 1 : 0,
    dedup?.key ?? null,
    clock.now,
    optionsText(job.options),
  )
  const seq = Number(lastInsertRowid)
  sql.insertBody.run(seq, checksumOf(job.body), job.body)
  for (const { seq: before } of dependencies ?? []) {
    sql.insertEdge.run(before, seq)
    sql.setAwaited.run(before)
  }
  if (dedup !== undefined) sql.setDedup.run(queue, dedup.key, seq, dedup.ttl === undefined ? null : clock.now + dedup.ttl)
  counters.change(queue, state, 1)
  if (failed !== undefined) end(context, jobRow(sql.jobBySeq.get(seq))!, STATE.failed, dependencyFailed(failed.id))
  else if (state !== STATE.blocked) context.emit(state === STATE.waiting ? 'waiting' : 'delayed', queue, job.id, seq)
  if (state === STATE.waiting) context.ready(queue)
  return { seq, state: failed === undefined ? state : STATE.failed }
}
