import type { Job } from '../pool/types.js'
import { microtask } from '../util/node-time.js'
import { WorkerLostError } from '../wire/errors.js'
import type { LogLine } from '../wire/messages.js'
import type { ActiveJob, ActiveJobObserver } from './active-job.js'
import { type DeadReason, type HistoryEntry, notifyEnded, type Settlement } from './delivery.js'
import { endedWith, isStartError } from './ended-run.js'
import { DeliveryGoneError, ExpiredError, generatorError, isReturnedFunction, NodeShutdownError, RevokedError, returnedFunctionError } from './errors.js'
import { answerOf, encodeAnswer, type JobReply, unsendable } from './message/reply.js'
import { errorLine, lineOf } from './message/serialized-error.js'
import { reportable, type TaskStatus } from './report/report.js'
import { endEntry } from './report/task-history.js'
import { failureOutcome } from './retry-policy.js'
import type { RuntimeState } from './runtime-state.js'
import type { Outcome } from './settler.js'

/** What `Completion` asks of the runtime. */
export interface CompletionActions {
  /** Admits the job again: a new delivery of it came while it was being withdrawn. */
  readmit(job: ActiveJob): void
  began(job: ActiveJob): void
  /** The job is no longer active: deliveries that waited for its id are admitted. */
  released(job: ActiveJob): void
}

/** What goes with a settlement. */
interface SettleExtras {
  readonly reply?: JobReply
  /** Counts, logs and reports the end, when the broker has taken the settlement. */
  readonly onSettled?: () => void
}

/**
 * How a job ends. Each way but `forget` settles its deliveries; all but `forget` and `requeue` are also logged and reported (the
 * republication of an untried job is only logged), once the broker has taken the settlement: until then another node may run the job.
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

  /** The job's deliveries are gone and it has not begun: this node has nothing more to do with it. */
  forget(job: ActiveJob): void {
    if (job.historyEntry !== undefined) this.#state.tasks.remove(job.historyEntry)
    this.#release(job)
  }

  requeue(job: ActiveJob, uncounted = false): void {
    if (job.isRevoked) this.revoked(job)
    else {
      if (job.historyEntry !== undefined) this.#state.tasks.remove(job.historyEntry)
      this.#settle(job, uncounted ? { kind: 'requeue', uncounted } : { kind: 'requeue' })
    }
  }

  /**
   * Publishes an untried job again with `requeues` + 1, or dead-letters it after `maxRequeues`. A plain requeue would deliver it again at
   * once, without delay or count.
   */
  republishUntried(job: ActiveJob, error: unknown, delay?: number): void {
    const settlement = this.#state.policy.untried(job, error, delay)
    if (job.isRevoked) this.revoked(job)
    else if (settlement.kind === 'dead-letter') this.#deadLettered(job, settlement, error, 'failure')
    else {
      if (job.historyEntry !== undefined) this.#state.tasks.remove(job.historyEntry)
      this.#state.log?.warn(
        { job: job.id, task: job.name, queue: job.queue, requeues: job.counts.requeues + 1, err: error },
        'job goes back to the queue untried',
      )
      this.#settle(job, settlement)
    }
  }

  deadLetter(job: ActiveJob, reason: DeadReason, error: unknown): void {
    this.#retryOrDeadLetter(job, this.#state.policy.giveUp(job, reason, error), error, undefined)
  }

  unknownTask(job: ActiveJob, error: unknown): void {
    // Once: the job may meet many nodes that do not know it.
    if (job.counts.unknownFor === undefined) this.#addHistory(job, 'unknown_task', error)
    this.#retryOrDeadLetter(job, this.#state.policy.unknownTask(job, error), error, undefined)
  }

  revoked(job: ActiveJob): void {
    const error = new RevokedError()
    const { id, name, worker } = job
    const run = job.lastRun
    endEntry(job, 'revoked', error)
    const onSettled = (): void => {
      this.#state.totals.revoked++
      this.#state.log?.info({ job: id, task: name, queue: job.queue, worker }, 'job revoked')
      this.#state.report({ type: 'task.revoked', id, name, ...run })
    }
    this.#settle(job, job.recordedAs('revoked'), { reply: { ok: false, error }, onSettled })
  }

  began(job: ActiveJob, worker: number): void {
    job.hasBegun = true
    job.running = true
    job.worker = worker
    job.workerCounts = this.#state.countsOf(worker)
    job.startedAt = Date.now()
    this.#state.runTimes.began(job)
    job.beginnings++
    this.#actions.began(job)
    this.#state.callHooks(job, 'began', job.beginnings, job.record?.history)
    // It began before it could be withdrawn.
    const { intent } = job
    job.intent = intent === 'killed' ? intent : undefined
    if (job.historyEntry !== undefined) {
      const { record } = job.historyEntry
      record.status = 'running'
      record.started = job.startedAt
      record.worker = worker
    }
    if (this.#state.hasListeners) this.#state.report({ type: 'task.started', id: job.id, name: job.name, worker, attempt: job.counts.attempt })
    if (intent === 'revoked' && job.terminate) job.endRun('revoked', new RevokedError())
    else if (job.endWhenGone && job.deliveries.length === 0) job.endRun('gone', new DeliveryGoneError())
  }

  succeeded(job: ActiveJob, value: unknown): void {
    if (job.phase !== 'done') this.#done(job, { ok: true, value })
  }

  retried(job: ActiveJob, worker: number, reason: string): void {
    this.countLoss(job, worker, reason)
    // Not in this call: the pool is at work.
    if (job.isRevoked) microtask(() => job.endRunIfSubmitted('revoked', new RevokedError()))
    else if (job.deliveries.length === 0) microtask(() => job.withdrawGone())
  }

  progressed(job: ActiveJob, value: unknown): void {
    if (job.phase === 'done') return
    this.#state.callHooks(job, 'progress', value)
    if (this.#state.hasListeners) this.#state.report({ type: 'task.progress', id: job.id, name: job.name, worker: job.worker, value: reportable(value) })
  }

  logged({ id, name }: ActiveJob, worker: number, lines: readonly LogLine[]): void {
    for (const { stream, text, time } of lines) this.#state.log?.info({ job: id, task: name, worker, stream, at: time }, text)
  }

  /** The task has returned a value that cannot be sent. The job has succeeded and is not run again. */
  #withoutResult(job: ActiveJob, error: unknown): void {
    this.#warnUnsendable(job, error)
    const { cause, message } = error as Error
    this.#done(job, { ok: false, error: unsendable(cause instanceof Error ? cause.message : message, error) })
  }

  #warnUnsendable(job: ActiveJob, err: unknown): void {
    this.#state.log?.warn({ job: job.id, task: job.name, queue: job.queue, worker: job.worker, err }, 'job succeeded, but its result cannot be sent')
  }

  #done(job: ActiveJob, reply: JobReply): void {
    const { id, name, worker, workerCounts, duration } = job
    endEntry(job, 'success', undefined)
    const onSettled = (): void => {
      const { totals, log, hasListeners } = this.#state
      totals.succeeded++
      if (workerCounts !== undefined) workerCounts.succeeded++
      log?.debug({ job: id, task: name, worker, ms: duration }, 'job succeeded')
      if (hasListeners) this.#state.report({ type: 'task.succeeded', id, name, worker, duration })
    }
    this.#settle(job, job.recordedAs('acknowledge'), { reply, onSettled })
  }

  /** `resultUnsendable`: the task has returned, but its value cannot be sent. */
  ended(job: ActiveJob, poolJob: Job, error: unknown, resultUnsendable: boolean): void {
    if (job.phase === 'done') return
    // What a task throws when this node ends its run is no failure of the job.
    const failed = poolJob.state === 'failed' && (resultUnsendable || !job.hasBegun || job.intent === undefined)
    // Only a broker that keeps no results has nobody who could learn of it.
    if (failed && resultUnsendable && this.#state.settings.retries === 'broker' && isReturnedFunction(error))
      this.#failed(job, poolJob, returnedFunctionError(job.name))
    else if (failed && resultUnsendable) this.#withoutResult(job, error)
    // The pool could start no worker for this job. If an earlier worker died with it, that loss is counted already, so no attempt is
    // added. `!job.running` excludes a task that throws an error with this code.
    else if (failed && isStartError(error) && !job.running) this.republishUntried(job, error)
    else if (failed && poolJob.accepted) this.#failed(job, poolJob, error)
    else if (failed) this.#refused(job, error)
    else if (poolJob.state === 'lost' && error instanceof WorkerLostError) this.#lostByPool(job, error)
    else if (job.intent === 'revoked') this.revoked(job)
    else if (job.intent === 'killed') this.#killed.push(job)
    else if (job.hasBegun && job.intent !== 'gone') this.#lost(job, error, job.running)
    else this.#takenBack(job, error)
  }

  /** The pool gave the job back: it had not begun, or its delivery was gone. One that was delivered here again meanwhile is admitted anew. */
  #takenBack(job: ActiveJob, error: unknown): void {
    const { intent } = job
    job.intent = undefined
    if (intent === 'expired') this.deadLetter(job, 'expired', new ExpiredError(job.headers.expiresAt))
    else if (intent !== 'gone') this.requeue(job, intent === 'held')
    else if (job.deliveries.length > 0) {
      this.#state.runTimes.ended(job)
      job.prepareAgain()
      this.#actions.readmit(job)
    } else if (!job.hasBegun) this.forget(job)
    else {
      endEntry(job, 'lost', error)
      this.#release(job)
    }
  }

  #refused(job: ActiveJob, error: unknown): void {
    const code = (error as { code?: unknown } | null)?.code
    if (code === 'ERR_PREFORK_TASK_NOT_FOUND') this.unknownTask(job, error)
    else if (code === 'ERR_PREFORK_POOL_CLOSED' || code === 'ERR_PREFORK_QUEUE_FULL') this.requeue(job)
    else this.deadLetter(job, 'refused', error)
  }

  #failed(job: ActiveJob, poolJob: Job, thrown: unknown): void {
    const error = (thrown as { code?: unknown } | null)?.code === 'ERR_PREFORK_STREAM' ? generatorError(job.name, thrown) : thrown
    // Thrown by prefork (the path has no such task, or the replacement worker's code has not), not by the task: hence the test of
    // `target` and `running`.
    if ((error as { code?: unknown } | null)?.code === 'ERR_PREFORK_TASK_NOT_FOUND' && (job.target?.name !== job.name || !job.running)) {
      this.unknownTask(job, error)
      return
    }
    job.nameDeadline(error)
    const outcome = failureOutcome(error, poolJob.softTimedOut)
    const status = outcome === 'hard_timeout' || outcome === 'soft_timeout' ? outcome : undefined
    if (status !== undefined) this.#state.report({ type: `task.${status}`, id: job.id, name: job.name, worker: job.worker, duration: job.duration })
    this.#addHistory(job, outcome, error)
    const settlement = this.#state.policy.failed(job, error)
    this.#state.ignoredOptions.checkDelay(job, error, settlement)
    this.#retryOrDeadLetter(job, settlement, error, status)
  }

  /** The job's worker died, or one worker after another died before the job could begin. */
  #lostByPool(job: ActiveJob, error: WorkerLostError): void {
    if (job.intent === 'revoked') this.revoked(job)
    else if (error.reason !== 'put back too often') this.#lost(job, error, true)
    else if (job.intent === 'gone') this.#takenBack(job, error)
    else this.republishUntried(job, error)
  }

  /** `running`: the job was running when it was lost, and that loss is not counted yet. */
  #lost(job: ActiveJob, error: unknown, running: boolean): void {
    if (running) this.countLoss(job, job.worker, endedWith(job) ?? errorLine(error))
    const settlement = this.#state.policy.lost(job, job.target?.options.retryLost, error)
    if (settlement.kind === 'dead-letter') this.#deadLettered(job, settlement, error, 'lost')
    else this.#retried(job, settlement, error, 'retried')
  }

  /** Counts and reports one run whose worker died, whether or not the job runs again. */
  countLoss(job: ActiveJob, worker: number | undefined, reason: string): void {
    this.#state.runTimes.ended(job)
    job.addLoss(this.#state.settings.node, lineOf(reason))
    this.#state.totals.lost++
    this.#state.log?.error({ job: job.id, task: job.name, queue: job.queue, worker, losses: job.totalLosses, reason }, 'job lost with its worker')
    this.#state.report({ type: 'task.lost', id: job.id, name: job.name, worker, duration: job.duration, reason, losses: job.totalLosses })
  }

  /** Settles the jobs that were killed with their workers: those that had begun count as lost. Returns how many these are. */
  settleKilled(): number {
    let lost = 0
    for (const job of this.#killed.splice(0)) {
      // The cancellation may have overtaken the `began` callback, so the pool's own record is asked too.
      const begunUnreported = !job.hasBegun && job.poolJob?.accepted === true
      if (job.hasBegun || begunUnreported) {
        lost++
        this.#lost(job, new NodeShutdownError(), job.running || begunUnreported)
      } else this.requeue(job)
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
    if (job.isRevoked) {
      this.revoked(job)
      return
    }
    const { delay, counts } = settlement
    const { id, name, worker, workerCounts, queue } = job
    const run = job.lastRun
    endEntry(job, status, error)
    const onSettled = (): void => {
      this.#state.totals.retried++
      if (workerCounts !== undefined) workerCounts.retried++
      this.#state.log?.warn({ job: id, task: name, queue, worker, delay, counts, err: error }, 'job will be tried again')
      this.#state.report({ type: 'task.retried', id, name, ...run, delay, counts, error: errorLine(error) })
    }
    this.#settle(job, settlement, { onSettled })
  }

  #deadLettered(job: ActiveJob, settlement: Settlement, error: unknown, status: TaskStatus): void {
    const dead = settlement.kind === 'dead-letter' ? settlement.reason : undefined
    const { id, name, worker, workerCounts, duration, queue, deliveries } = job
    const isForgotten = deliveries[0]?.isForgotten === true
    endEntry(job, status, error)
    const onSettled = (): void => {
      const { totals, log } = this.#state
      totals.failed++
      if (workerCounts !== undefined) workerCounts.failed++
      if (!isForgotten) totals.deadLettered++
      const what = isForgotten ? 'job has failed and is forgotten: it has no retry left' : 'job goes to the dead letters'
      log?.error({ job: id, task: name, queue, worker, reason: dead, counts: { ...job.counts, losses: job.totalLosses }, err: error }, what)
      this.#state.report({ type: 'task.failed', id, name, worker, duration, error: errorLine(error), dead })
    }
    this.#settle(job, settlement, { reply: { ok: false, error }, onSettled })
  }

  #addHistory(job: ActiveJob, outcome: HistoryEntry['outcome'], error: unknown): void {
    job.addHistory({ attempt: job.counts.attempt, at: Date.now(), node: this.#state.settings.node, outcome, error: errorLine(error) })
  }

  #settle(job: ActiveJob, settlement: Settlement, { reply, onSettled: end }: SettleExtras = {}): void {
    const onSettled = this.#state.revocations.whenTaken(job, end)
    const { identity, deliveries, keepsAnswer } = job
    const body =
      reply === undefined || keepsAnswer || job.headers.replyTo === undefined ? undefined : encodeAnswer(reply, (error) => this.#warnUnsendable(job, error))
    const answer = reply !== undefined && keepsAnswer ? answerOf(reply) : undefined
    // Answers that a broker keeps may be large, and their settlement is one transaction: nothing is half done that could be recognised.
    const remembered = identity !== undefined && !keepsAnswer && settlement.kind !== 'requeue' && !this.#state.ambiguous.has(identity)
    const outcome: Outcome = { settlement, answer, onSettled, remembered, reply: body, settling: undefined }
    if (remembered) this.#state.finished.set(identity, outcome)
    // Set first: settling may report the delivery as gone, and a finished job ignores that.
    job.phase = 'done'
    this.#state.settler.settle(deliveries, outcome)
    this.#release(job)
  }

  #release(job: ActiveJob): void {
    job.phase = 'done'
    job.stopTimers()
    this.#state.runTimes.ended(job)
    for (const { gone } of job.deliveries) this.#state.channels.forget(gone)
    for (const { gone } of job.waitingDeliveries) this.#state.channels.forget(gone)
    this.#state.active.delete(job.key)
    this.#state.revocations.ended(job)
    this.#actions.released(job)
    if (job.representative !== undefined) notifyEnded(job.representative)
    job.representative = undefined
  }
}
