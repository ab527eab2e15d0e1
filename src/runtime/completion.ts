import type { Job } from '../pool/types.js'
import { SerializationError, WorkerLostError } from '../wire/errors.js'
import type { ActiveJob, ActiveJobObserver } from './active-job.js'
import { type DeadReason, type HistoryEntry, notifyEnded, type Settlement } from './delivery.js'
import { ExpiredError, NodeShutdownError, RevokedError } from './errors.js'
import { encodeReply } from './message/reply.js'
import { errorLine, serializeError } from './message/serialized-error.js'
import type { TaskStatus } from './report/report.js'
import { closeEntry } from './report/task-history.js'
import { failureOutcome } from './retry-policy.js'
import type { RuntimeState } from './runtime-state.js'
import type { Outcome } from './settler.js'

/** What `Completion` asks of the runtime. */
export interface CompletionActions {
  /** Admits the job again: a new delivery of it came while it was being withdrawn. */
  readmit(job: ActiveJob): void
  /** The job is no longer active: deliveries that waited for its id are admitted. */
  released(job: ActiveJob): void
}

type ReplyContent = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown }

/**
 * How a job ends. Each way but `forget` settles its deliveries; all but `forget` and `requeue` are also logged and reported (the
 * republication of an untried job is only logged).
 */
export class Completion implements ActiveJobObserver {
  readonly #state: RuntimeState
  readonly #actions: CompletionActions
  /** Jobs killed at the node's shutdown. They are settled once their workers are gone. */
  readonly #killed: ActiveJob[] = []

  constructor(state: RuntimeState, actions: CompletionActions) {
    this.#state = state
    this.#actions = actions
  }

  // ---- endings without a result

  /** The job's deliveries are gone and it has not begun: this node has nothing more to do with it. */
  forget(job: ActiveJob): void {
    if (job.historyEntry !== undefined) this.#state.tasks.remove(job.historyEntry)
    this.#release(job)
  }

  requeue(job: ActiveJob): void {
    if (job.historyEntry !== undefined) this.#state.tasks.remove(job.historyEntry)
    this.#settle(job, { kind: 'requeue' })
  }

  /**
   * Publishes an untried job again with `requeues` + 1, or dead-letters it after `maxRequeues`. A plain requeue would deliver it again at
   * once, without delay or count.
   */
  republishUntried(job: ActiveJob, error: unknown, delay?: number): void {
    const settlement = this.#state.policy.untried(job, error, delay)
    if (settlement.kind === 'dead-letter') this.#deadLettered(job, settlement, error, 'failure')
    else {
      if (job.historyEntry !== undefined) this.#state.tasks.remove(job.historyEntry)
      this.#state.log?.warn({ job: job.id, task: job.name, requeues: job.counts.requeues + 1, err: error }, 'job goes back to the queue untried')
      this.#settle(job, settlement)
    }
  }

  deadLetter(job: ActiveJob, reason: DeadReason, error: unknown): void {
    this.#deadLettered(job, this.#state.policy.dead(job, reason, error), error, 'failure')
  }

  unknownTask(job: ActiveJob, error: unknown): void {
    this.#addHistory(job, 'unknown_task', error)
    this.#retryOrDeadLetter(job, this.#state.policy.unknownTask(job, error), error, undefined)
  }

  revoked(job: ActiveJob): void {
    const error = new RevokedError()
    this.#state.totals.revoked++
    this.#state.log?.info({ job: job.id, task: job.name, worker: job.worker }, 'job revoked')
    this.#state.report({ type: 'task.revoked', id: job.id, name: job.name, ...workerAndDuration(job) })
    this.#close(job, 'revoked', error)
    this.#settle(job, { kind: 'acknowledge' }, { ok: false, error })
  }

  // ---- after submission to the pool

  began(job: ActiveJob, worker: number): void {
    job.hasBegun = true
    job.running = true
    job.worker = worker
    job.startedAt = Date.now()
    // It began before it could be withdrawn.
    const { intent } = job
    job.intent = undefined
    if (job.historyEntry !== undefined) {
      const { record } = job.historyEntry
      record.status = 'running'
      record.started = job.startedAt
      record.worker = worker
    }
    if (this.#state.hasListeners) this.#state.report({ type: 'task.started', id: job.id, name: job.name, worker, attempt: job.counts.attempt })
    if (intent === 'revoked' && job.terminate) cancelRevoked(job)
  }

  succeeded(job: ActiveJob, value: unknown): void {
    if (job.phase === 'done') return
    const { log } = this.#state
    log?.info({ job: job.id, task: job.name, worker: job.worker, ms: durationOf(job) }, 'job succeeded')
    this.#done(job, { ok: true, value })
  }

  /** The task has returned a value that cannot be sent. The job has succeeded and is not run again. */
  #withoutResult(job: ActiveJob, error: unknown): void {
    this.#warnUnsendable(job, error)
    const { cause, message } = error as Error
    this.#done(job, { ok: false, error: unsendable(cause instanceof Error ? cause.message : message, error) })
  }

  #warnUnsendable(job: ActiveJob, err: unknown): void {
    this.#state.log?.warn({ job: job.id, task: job.name, worker: job.worker, err }, 'job succeeded, but its result cannot be sent')
  }

  #done(job: ActiveJob, reply: ReplyContent): void {
    this.#state.totals.succeeded++
    if (this.#state.hasListeners) this.#state.report({ type: 'task.succeeded', id: job.id, name: job.name, worker: job.worker, duration: durationOf(job) })
    this.#close(job, 'success', undefined)
    this.#settle(job, { kind: 'acknowledge' }, reply)
  }

  /** `returned`: the task has returned, but its value cannot be sent. */
  ended(job: ActiveJob, poolJob: Job, error: unknown, returned: boolean): void {
    if (job.phase === 'done') return
    if (poolJob.state === 'failed' && returned) this.#withoutResult(job, error)
    // The pool could start no worker for this job. If an earlier worker died with it, that loss is counted already, so no attempt is
    // added. `!job.running` excludes a task that throws an error with this code.
    else if (poolJob.state === 'failed' && isStartError(error) && !job.running) this.republishUntried(job, error)
    else if (poolJob.state === 'failed' && poolJob.accepted) this.#failed(job, poolJob, error)
    else if (poolJob.state === 'failed') this.#refused(job, error)
    else if (poolJob.state === 'lost' && error instanceof WorkerLostError) this.#lostByPool(job, error)
    else if (job.intent === 'revoked') this.revoked(job)
    else if (job.intent === 'killed') this.#killed.push(job)
    else if (job.hasBegun) this.#lost(job, error, job.running)
    else this.#withdrawn(job)
  }

  /** The pool gave the job back before it began. */
  #withdrawn(job: ActiveJob): void {
    const { intent } = job
    job.intent = undefined
    if (intent === 'expired') this.deadLetter(job, 'expired', new ExpiredError(job.headers.expiresAt))
    else if (intent === 'gone' && job.deliveries.length === 0) this.forget(job)
    else if (intent === 'gone') {
      job.poolJob = undefined
      job.phase = 'preparing'
      this.#actions.readmit(job)
    } else this.requeue(job)
  }

  #refused(job: ActiveJob, error: unknown): void {
    const code = (error as { code?: unknown } | null)?.code
    if (code === 'ERR_PREFORK_TASK_NOT_FOUND') this.unknownTask(job, error)
    else if (code === 'ERR_PREFORK_POOL_CLOSED' || code === 'ERR_PREFORK_QUEUE_FULL') this.requeue(job)
    else this.deadLetter(job, 'refused', error)
  }

  #failed(job: ActiveJob, poolJob: Job, error: unknown): void {
    // Thrown by prefork (the path has no such task, or the replacement worker's code has not), not by the task: hence the test of
    // `target` and `running`.
    if ((error as { code?: unknown } | null)?.code === 'ERR_PREFORK_TASK_NOT_FOUND' && (job.target?.name !== job.name || !job.running)) {
      this.unknownTask(job, error)
      return
    }
    const outcome = failureOutcome(error, poolJob.softTimedOut)
    const duration = durationOf(job)
    const about = { id: job.id, name: job.name, worker: job.worker, duration }
    if (outcome === 'hard_timeout') this.#state.report({ type: 'task.hard_timeout', ...about })
    if (outcome === 'soft_timeout') this.#state.report({ type: 'task.soft_timeout', ...about })
    if (job.worker !== undefined) this.#state.failures.set(job.worker, (this.#state.failures.get(job.worker) ?? 0) + 1)
    this.#addHistory(job, outcome, error)
    const status = outcome === 'hard_timeout' || outcome === 'soft_timeout' ? outcome : undefined
    this.#retryOrDeadLetter(job, this.#state.policy.failed(job, error), error, status)
  }

  /** The job's worker died, or one worker after another died before the job could begin. */
  #lostByPool(job: ActiveJob, error: WorkerLostError): void {
    if (job.intent === 'revoked') this.revoked(job)
    else if (error.reason !== 'put back too often') this.#lost(job, error, true)
    else if (job.intent === 'gone') this.#withdrawn(job)
    else this.republishUntried(job, error)
  }

  /** `running`: the job was running when it was lost, and that loss is not counted yet. */
  #lost(job: ActiveJob, error: unknown, running: boolean): void {
    if (running) this.countLoss(job, job.worker, errorLine(error))
    const settlement = this.#state.policy.lost(job, job.target?.options.retryLost, error)
    if (settlement.kind === 'dead-letter') this.#deadLettered(job, settlement, error, 'lost')
    else this.#retried(job, settlement, error, 'retried')
  }

  /** Counts and reports one run whose worker died, whether or not the job runs again. */
  countLoss(job: ActiveJob, worker: number | undefined, reason: string): void {
    job.running = false
    job.losses++
    job.addHistory({ attempt: job.counts.attempt, at: Date.now(), node: this.#state.settings.node, outcome: 'lost', error: reason })
    this.#state.totals.lost++
    this.#state.log?.error({ job: job.id, task: job.name, worker, losses: job.totalLosses, reason }, 'job lost with its worker')
    this.#state.report({ type: 'task.lost', id: job.id, name: job.name, worker, duration: durationOf(job), reason, losses: job.totalLosses })
  }

  /** Settles the jobs that were killed with their workers: those that had begun count as lost. Returns how many these are. */
  settleKilled(): number {
    let lost = 0
    for (const job of this.#killed.splice(0)) {
      // The cancellation may have overtaken the `began` callback, so the pool's own record is asked too.
      const begunUnreported = !job.hasBegun && job.poolJob?.accepted === true
      if (!job.hasBegun && !begunUnreported) {
        this.requeue(job)
        continue
      }
      lost++
      this.#lost(job, new NodeShutdownError(), job.running || begunUnreported)
    }
    return lost
  }

  // ---- settlement

  #retryOrDeadLetter(job: ActiveJob, settlement: Settlement, error: unknown, status: TaskStatus | undefined): void {
    if (settlement.kind === 'dead-letter') this.#deadLettered(job, settlement, error, status ?? 'failure')
    else this.#retried(job, settlement, error, status ?? 'retried')
  }

  #retried(job: ActiveJob, settlement: Settlement, error: unknown, status: TaskStatus): void {
    if (settlement.kind !== 'republish') return
    const { delay, counts } = settlement
    this.#state.totals.retried++
    this.#state.log?.warn({ job: job.id, task: job.name, worker: job.worker, delay, counts, err: error }, 'job will be tried again')
    this.#state.report({ type: 'task.retried', id: job.id, name: job.name, ...workerAndDuration(job), delay, counts, error: errorLine(error) })
    this.#close(job, status, error)
    this.#settle(job, settlement)
  }

  #deadLettered(job: ActiveJob, settlement: Settlement, error: unknown, status: TaskStatus): void {
    const { totals, log } = this.#state
    const deadReason = settlement.kind === 'dead-letter' ? settlement.reason : undefined
    totals.failed++
    totals.deadLettered++
    log?.error({ job: job.id, task: job.name, worker: job.worker, reason: deadReason, counts: job.counts, err: error }, 'job goes to the dead letters')
    this.#state.report({
      type: 'task.failed',
      id: job.id,
      name: job.name,
      worker: job.worker,
      duration: durationOf(job),
      error: errorLine(error),
      dead: deadReason,
    })
    this.#close(job, status, error)
    this.#settle(job, settlement, { ok: false, error })
  }

  #addHistory(job: ActiveJob, outcome: HistoryEntry['outcome'], error: unknown): void {
    job.addHistory({ attempt: job.counts.attempt, at: Date.now(), node: this.#state.settings.node, outcome, error: errorLine(error) })
  }

  #close({ historyEntry: entry, worker, startedAt }: ActiveJob, status: TaskStatus, error: unknown): void {
    if (entry === undefined) return
    const { record } = entry
    record.status = status
    record.ended = Date.now()
    record.duration = startedAt === 0 ? undefined : record.ended - startedAt
    record.worker = worker
    record.error = error === undefined ? undefined : errorLine(error)
    closeEntry(entry)
  }

  #settle(job: ActiveJob, settlement: Settlement, reply?: ReplyContent): void {
    const body = reply === undefined || job.headers.replyTo === undefined ? undefined : this.#replyBody(job, reply)
    const { identity, deliveries } = job
    const remembered = identity !== undefined && settlement.kind !== 'requeue' && !this.#state.ambiguous.has(identity)
    const outcome: Outcome = { settlement, remembered, reply: body, settling: undefined }
    if (remembered) this.#state.finished.set(identity, outcome)
    // Set first: settling may report the delivery as gone, and a finished job ignores that.
    job.phase = 'done'
    this.#state.settler.settle(deliveries, outcome)
    this.#release(job)
  }

  /** A value that a message cannot carry becomes an error that says so. */
  #replyBody(job: ActiveJob, reply: ReplyContent): { body: Buffer; ok: boolean } {
    if (!reply.ok) return { body: encodeReply({ ok: false, error: serializeError(reply.error) }), ok: false }
    try {
      return { body: encodeReply(reply), ok: true }
    } catch (error) {
      this.#warnUnsendable(job, error)
      return { body: encodeReply({ ok: false, error: serializeError(unsendable((error as Error).message, error)) }), ok: false }
    }
  }

  #release(job: ActiveJob): void {
    job.phase = 'done'
    job.stopTimers()
    for (const { gone } of job.deliveries) this.#state.channels.forget(gone)
    for (const { gone } of job.waitingDeliveries) this.#state.channels.forget(gone)
    this.#state.active.delete(job.id)
    this.#actions.released(job)
    if (job.representative !== undefined) notifyEnded(job.representative)
    job.representative = undefined
  }
}

export const cancelRevoked = (job: ActiveJob): void => {
  job.intent = 'revoked'
  job.poolJob!.cancel(new RevokedError())
}

const isStartError = (error: unknown): boolean => (error as { code?: unknown } | null | undefined)?.code === 'ERR_PREFORK_WORKER_START'

const durationOf = ({ startedAt }: ActiveJob): number => (startedAt === 0 ? 0 : Date.now() - startedAt)

/** The run that an event ends. There is none when its worker's death was reported before, or when the job never began. */
const workerAndDuration = (job: ActiveJob): { worker: number | undefined; duration: number } =>
  job.running ? { worker: job.worker, duration: durationOf(job) } : { worker: undefined, duration: 0 }

/** The reply for a job that has succeeded with a value that cannot be sent. */
const unsendable = (why: string, cause: unknown): SerializationError =>
  new SerializationError(`The job has succeeded, but its result cannot be sent: ${why}`, { cause })
