import type { Job } from '../pool/types.js'
import { SerializationError, WorkerLostError } from '../wire/errors.js'
import type { ActiveJob } from './active-job.js'
import { type DeadReason, type HistoryEntry, notifyEnded, type Settlement } from './delivery.js'
import { ExpiredError, NodeShutdownError, RevokedError } from './errors.js'
import { errorLine, serializeError } from './failure.js'
import { encodeReply } from './message/index.js'
import { failureOutcome } from './policy.js'
import type { TaskStatus } from './report/report.js'
import { closeEntry } from './report/task-history.js'
import type { RuntimeState } from './runtime-state.js'
import type { Outcome } from './settler.js'

/** What the endings ask of the rest. */
export interface CompletionActions {
  /** It was taken back because its delivery was gone, and has been delivered again meanwhile. */
  again(held: ActiveJob): void
  /** It is out of the books: what came under its id meanwhile has its turn. */
  released(held: ActiveJob): void
}

type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown }

/** The ways in which a held job ends: each leads to a settlement, and is told to those who watch. */
export class Completion {
  readonly #state: RuntimeState
  readonly #owner: CompletionActions
  /** Killed with the node, to be settled once their workers are gone. */
  readonly #killed: ActiveJob[] = []

  constructor(state: RuntimeState, owner: CompletionActions) {
    this.#state = state
    this.#owner = owner
  }

  // ---- before it began

  /** Its deliveries are gone and it has not begun: nothing is known of it any more. */
  forget(held: ActiveJob): void {
    if (held.entry !== undefined) this.#state.tasks.remove(held.entry)
    this.#release(held)
  }

  requeue(held: ActiveJob): void {
    if (held.entry !== undefined) this.#state.tasks.remove(held.entry)
    this.#settle(held, { kind: 'requeue' })
  }

  /** It goes back to the queue, counted, or to the dead letters where that came too often: given back as it is, it would be here again at once. */
  untried(held: ActiveJob, error: unknown, delay?: number): void {
    const settlement = this.#state.policy.untried(held, error, delay)
    if (settlement.kind === 'dead-letter') this.#buried(held, settlement, error, 'failure')
    else {
      if (held.entry !== undefined) this.#state.tasks.remove(held.entry)
      this.#state.log?.warn({ job: held.id, task: held.name, requeues: held.counts.requeues + 1, err: error }, 'job goes back to the queue untried')
      this.#settle(held, settlement)
    }
  }

  dead(held: ActiveJob, reason: DeadReason, error: unknown): void {
    this.#buried(held, this.#state.policy.dead(held, reason, error), error, 'failure')
  }

  unknown(held: ActiveJob, error: unknown): void {
    this.#line(held, 'unknown_task', error)
    this.#retryOrBury(held, this.#state.policy.unknownTask(held, error), error, undefined)
  }

  revoked(held: ActiveJob): void {
    const error = new RevokedError()
    this.#state.totals.revoked++
    this.#state.log?.info({ job: held.id, task: held.name, worker: held.worker }, 'job revoked')
    this.#state.report({ type: 'task.revoked', id: held.id, name: held.name, ...runOf(held) })
    this.#close(held, 'revoked', error)
    this.#settle(held, { kind: 'acknowledge' }, { ok: false, error })
  }

  // ---- after the pool had it

  succeeded(held: ActiveJob, value: unknown): void {
    if (held.phase === 'done') return
    const { log } = this.#state
    log?.info({ job: held.id, task: held.name, worker: held.worker, ms: durationOf(held) }, 'job succeeded')
    this.#done(held, { ok: true, value })
  }

  /** Its task has returned: it is not run again because nobody can get the result. */
  #withoutResult(held: ActiveJob, error: unknown): void {
    this.#warnOfResult(held, error)
    const { cause, message } = error as Error
    this.#done(held, { ok: false, error: unsendable(cause instanceof Error ? cause.message : message, error) })
  }

  #warnOfResult(held: ActiveJob, err: unknown): void {
    this.#state.log?.warn({ job: held.id, task: held.name, worker: held.worker, err }, 'job succeeded, but its result cannot be sent')
  }

  #done(held: ActiveJob, answer: Answer): void {
    this.#state.totals.succeeded++
    if (this.#state.heard) this.#state.report({ type: 'task.succeeded', id: held.id, name: held.name, worker: held.worker, duration: durationOf(held) })
    this.#close(held, 'success', undefined)
    this.#settle(held, { kind: 'acknowledge' }, answer)
  }

  /** `returned`: its task has, but with a value that cannot be sent. */
  ended(held: ActiveJob, job: Job, error: unknown, returned: boolean): void {
    if (held.phase === 'done') return
    if (job.state === 'failed' && returned) this.#withoutResult(held, error)
    // Its worker died, which was counted, and none starts to run it again: that is no attempt of its own. A task may throw such an error, too.
    else if (job.state === 'failed' && isStartError(error) && !held.running) this.untried(held, error)
    else if (job.state === 'failed' && job.accepted) this.#failed(held, job, error)
    else if (job.state === 'failed') this.#refused(held, error)
    else if (job.state === 'lost' && error instanceof WorkerLostError) this.#lostByPool(held, error)
    else if (held.intent === 'revoked') this.revoked(held)
    else if (held.intent === 'killed') this.#killed.push(held)
    else if (held.begun) this.#lost(held, error, held.running)
    else this.#takenBack(held)
  }

  /** It came back before it began. */
  #takenBack(held: ActiveJob): void {
    const { intent } = held
    held.intent = undefined
    if (intent === 'expired') this.dead(held, 'expired', new ExpiredError(held.headers.expiresAt))
    else if (intent === 'gone' && held.deliveries.length === 0) this.forget(held)
    else if (intent === 'gone') {
      held.job = undefined
      held.phase = 'preparing'
      this.#owner.again(held)
    } else this.requeue(held)
  }

  /** The pool would not take it. */
  #refused(held: ActiveJob, error: unknown): void {
    const code = (error as { code?: unknown } | null)?.code
    if (code === 'ERR_PREFORK_TASK_NOT_FOUND') this.unknown(held, error)
    else if (code === 'ERR_PREFORK_POOL_CLOSED' || code === 'ERR_PREFORK_QUEUE_FULL') this.requeue(held)
    else this.dead(held, 'refused', error)
  }

  #failed(held: ActiveJob, job: Job, error: unknown): void {
    // Told by the worker that was to find it by its path; or its worker died, and the successor's code has no such task. A task may throw such an error, too.
    if ((error as { code?: unknown } | null)?.code === 'ERR_PREFORK_TASK_NOT_FOUND' && (held.target?.name !== held.name || !held.running)) {
      this.unknown(held, error)
      return
    }
    const outcome = failureOutcome(error, job.softTimedOut)
    const duration = durationOf(held)
    const about = { id: held.id, name: held.name, worker: held.worker, duration }
    if (outcome === 'hard_timeout') this.#state.report({ type: 'task.hard_timeout', ...about })
    if (outcome === 'soft_timeout') this.#state.report({ type: 'task.soft_timeout', ...about })
    if (held.worker !== undefined) this.#state.failures.set(held.worker, (this.#state.failures.get(held.worker) ?? 0) + 1)
    this.#line(held, outcome, error)
    const status = outcome === 'hard_timeout' || outcome === 'soft_timeout' ? outcome : undefined
    this.#retryOrBury(held, this.#state.policy.failed(held, error), error, status)
  }

  /** Its worker died, or worker after worker before it could begin. */
  #lostByPool(held: ActiveJob, error: WorkerLostError): void {
    if (held.intent === 'revoked') this.revoked(held)
    else if (error.reason !== 'put back too often') this.#lost(held, error, true)
    else if (held.intent === 'gone') this.#takenBack(held)
    else this.untried(held, error)
  }

  /** `running`: it was running when it was lost, which has not been counted yet. */
  #lost(held: ActiveJob, error: unknown, running: boolean): void {
    if (running) this.loss(held, held.worker, errorLine(error))
    const settlement = this.#state.policy.lost(held, held.target?.options.retryLost, error)
    if (settlement.kind === 'dead-letter') this.#buried(held, settlement, error, 'lost')
    else this.#retried(held, settlement, error, 'retried')
  }

  /** One beginning was lost, whether or not the job runs again. */
  loss(held: ActiveJob, worker: number | undefined, reason: string): void {
    held.running = false
    held.losses++
    held.note({ attempt: held.counts.attempt, at: Date.now(), node: this.#state.settings.node, outcome: 'lost', error: reason })
    this.#state.totals.lost++
    this.#state.log?.error({ job: held.id, task: held.name, worker, losses: held.lossesSoFar, reason }, 'job lost with its worker')
    this.#state.report({ type: 'task.lost', id: held.id, name: held.name, worker, duration: durationOf(held), reason, losses: held.lossesSoFar })
  }

  /** The workers are gone: what had begun and was killed with them follows the rule of losses. Answers how many there were. */
  settleKilled(): number {
    let lost = 0
    for (const held of this.#killed.splice(0)) {
      // The news of its beginning may have come after it was cancelled.
      const begunUntold = !held.begun && held.job?.accepted === true
      if (!held.begun && !begunUntold) {
        this.requeue(held)
        continue
      }
      lost++
      this.#lost(held, new NodeShutdownError(), held.running || begunUntold)
    }
    return lost
  }

  // ---- the books

  #retryOrBury(held: ActiveJob, settlement: Settlement, error: unknown, status: TaskStatus | undefined): void {
    if (settlement.kind === 'dead-letter') this.#buried(held, settlement, error, status ?? 'failure')
    else this.#retried(held, settlement, error, status ?? 'retried')
  }

  #retried(held: ActiveJob, settlement: Settlement, error: unknown, status: TaskStatus): void {
    if (settlement.kind !== 'republish') return
    const { delay, counts } = settlement
    this.#state.totals.retried++
    this.#state.log?.warn({ job: held.id, task: held.name, worker: held.worker, delay, counts, err: error }, 'job will be tried again')
    this.#state.report({ type: 'task.retried', id: held.id, name: held.name, ...runOf(held), delay, counts, error: errorLine(error) })
    this.#close(held, status, error)
    this.#settle(held, settlement)
  }

  #buried(held: ActiveJob, settlement: Settlement, error: unknown, status: TaskStatus): void {
    const { totals, log } = this.#state
    const dead = settlement.kind === 'dead-letter' ? settlement.reason : undefined
    totals.failed++
    totals.deadLettered++
    log?.error({ job: held.id, task: held.name, worker: held.worker, reason: dead, counts: held.counts, err: error }, 'job goes to the dead letters')
    this.#state.report({ type: 'task.failed', id: held.id, name: held.name, worker: held.worker, duration: durationOf(held), error: errorLine(error), dead })
    this.#close(held, status, error)
    this.#settle(held, settlement, { ok: false, error })
  }

  #line(held: ActiveJob, outcome: HistoryEntry['outcome'], error: unknown): void {
    held.note({ attempt: held.counts.attempt, at: Date.now(), node: this.#state.settings.node, outcome, error: errorLine(error) })
  }

  #close({ entry, worker, startedAt }: ActiveJob, status: TaskStatus, error: unknown): void {
    if (entry === undefined) return
    const { record } = entry
    record.status = status
    record.ended = Date.now()
    record.duration = startedAt === 0 ? undefined : record.ended - startedAt
    record.worker = worker
    record.error = error === undefined ? undefined : errorLine(error)
    closeEntry(entry)
  }

  #settle(held: ActiveJob, settlement: Settlement, answer?: Answer): void {
    const reply = answer === undefined || held.headers.replyTo === undefined ? undefined : this.#replyBody(held, answer)
    const { identity, deliveries } = held
    const remembered = identity !== undefined && settlement.kind !== 'requeue' && !this.#state.shared.has(identity)
    const outcome: Outcome = { settlement, remembered, reply, settling: undefined }
    if (remembered) this.#state.finished.set(identity, outcome)
    // Before it is settled: that may find its lease gone, which concerns a job that is over no more.
    held.phase = 'done'
    this.#state.settler.settle(deliveries, outcome)
    this.#release(held)
  }

  /** A value that a pool carries, and a message does not, is answered with the reason. */
  #replyBody(held: ActiveJob, answer: Answer): { body: Buffer; ok: boolean } {
    if (!answer.ok) return { body: encodeReply({ ok: false, error: serializeError(answer.error) }), ok: false }
    try {
      return { body: encodeReply(answer), ok: true }
    } catch (error) {
      this.#warnOfResult(held, error)
      return { body: encodeReply({ ok: false, error: serializeError(unsendable((error as Error).message, error)) }), ok: false }
    }
  }

  #release(held: ActiveJob): void {
    held.phase = 'done'
    held.stopTimers()
    for (const { gone } of held.deliveries) this.#state.generations.forget(gone)
    for (const { gone } of held.behind) this.#state.generations.forget(gone)
    this.#state.active.delete(held.id)
    this.#owner.released(held)
    if (held.standing !== undefined) notifyEnded(held.standing)
    held.standing = undefined
  }
}

const isStartError = (error: unknown): boolean => (error as { code?: unknown } | null | undefined)?.code === 'ERR_PREFORK_WORKER_START'

const durationOf = ({ startedAt }: ActiveJob): number => (startedAt === 0 ? 0 : Date.now() - startedAt)

/** The run that ends with what is told: none where its worker's death was told before, or it never began. */
const runOf = (held: ActiveJob): { worker: number | undefined; duration: number } =>
  held.running ? { worker: held.worker, duration: durationOf(held) } : { worker: undefined, duration: 0 }

/** What who waits is answered, when the job has succeeded all the same. */
const unsendable = (why: string, cause: unknown): SerializationError =>
  new SerializationError(`The job has succeeded, but its result cannot be sent: ${why}`, { cause })
