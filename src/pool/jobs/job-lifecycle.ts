import type { PendingDeadline } from '../../hub/index.js'
import { decode } from '../../wire/codec/index.js'
import { SerializationError, SoftTimeLimitError, TimeLimitError } from '../../wire/errors.js'
import { FLAG_ERROR, FLAG_INTERRUPTED, FLAG_SOFT, FLAG_UNSENDABLE, LimitStage, NO_STACK } from '../../wire/messages.js'
import { decodeError } from '../../wire/remote-error/index.js'
import { poolClosedError } from '../errors.js'
import type { Retirement } from '../fleet/retirement.js'
import type { PoolState } from '../pool-state.js'
import type { QueueCapacity } from '../queue/queue-capacity.js'
import type { PoolWorker } from '../worker/worker.js'
import type { JobOutcome, JobOwner, JobRecord } from './job.js'

/** The states of a job: queued → writing → written → accepted → settled, and back. Every promise about a job is kept here; each passes `settle` once. */
export class JobLifecycle implements JobOwner {
  readonly #pool: PoolState
  readonly #retirement: Retirement
  readonly #capacity: QueueCapacity

  constructor(pool: PoolState, retirement: Retirement, capacity: QueueCapacity) {
    this.#pool = pool
    this.#retirement = retirement
    this.#capacity = capacity
  }

  get poolId(): string {
    return this.#pool.id
  }

  // ---- settling

  /** `now`: ms on the hub's clock, where the caller has just read it. */
  settle(job: JobRecord, outcome: JobOutcome, now = this.#pool.hub.now()): void {
    if (job.isSettled) return
    const pool = this.#pool
    if (job.state === 'accepted') pool.running--
    else pool.queued--
    if (job.inOutbox) {
      job.inOutbox = false
      pool.outbox.forget()
    }
    if (job.state === 'queued') job.markBegan(job.attempt > 1)
    pool.unsettled--
    pool.totals[outcome.state]++
    if (job.acceptedAt > 0) pool.runTimes.record(now - job.acceptedAt)
    pool.roundTrips.record(now - job.spec.submittedAt)
    job.settle(outcome)
    if (pool.log !== undefined) {
      if (outcome.state === 'succeeded') pool.log.debug({ job: job.id, task: job.name, ms: Math.round(now - job.spec.submittedAt) }, 'job succeeded')
      else pool.log.warn({ job: job.id, task: job.name, worker: job.worker, err: outcome.error }, `job ${outcome.state}`)
    }
    if (pool.events.wants('jobSettled')) {
      pool.events.emit('jobSettled', {
        id: job.id,
        name: job.name,
        state: outcome.state,
        worker: job.worker === 0 ? undefined : job.worker,
        ms: now - job.spec.submittedAt,
        error: outcome.state === 'succeeded' ? undefined : outcome.error,
      })
    }
    // The start of a second worker may have waited for the first job.
    if (pool.starts.settled()) pool.requestBalance()
    if (pool.unsettled === 0 || this.#capacity.hasWaiters) pool.hub.wake()
    job.notifySettled()
  }

  fail(job: JobRecord, error: unknown): void {
    this.settle(job, { state: 'failed', error })
  }

  // ---- messages of the worker

  accepted(worker: PoolWorker, job: JobRecord, now = this.#pool.hub.now()): void {
    job.markBegan(true)
    if (job.isSettled) {
      // It was cancelled while it was on its way, and the worker claimed it first: it is a running job that was cancelled.
      this.#watchCancelled(worker, job)
      return
    }
    const pool = this.#pool
    job.withdrawal = undefined
    job.state = 'accepted'
    job.acceptedAt = now
    pool.queued--
    pool.running++
    if (job.attempt === 1) pool.waitTimes.record(now - job.spec.submittedAt)
    if (job.spec.softLimit > 0 || job.spec.hardLimit > 0) this.#watchLimits(worker, job)
    if (pool.events.wants('jobAccepted')) pool.events.emit('jobAccepted', { id: job.id, name: job.name, worker: worker.id, attempt: job.attempt })
    // Last, as with its settlement: the follower may cancel it at once, and that has events of its own.
    job.notifyBegan()
  }

  answered(job: JobRecord, flags: number, payload: Buffer, now: number): void {
    if (job.isSettled) return
    this.#pool.taskMeters.record(job.task, now - job.acceptedAt)
    if ((flags & FLAG_SOFT) !== 0) this.#softTimedOut(job)
    if ((flags & FLAG_INTERRUPTED) !== 0) {
      this.#softTimedOut(job)
      this.fail(job, this.#softError(job, payload.toString('utf8')))
      return
    }
    try {
      if ((flags & FLAG_ERROR) === 0) {
        const value = payload.length === 0 ? undefined : decode(payload, 0)
        this.settle(job, { state: 'succeeded', value }, now)
      } else {
        job.returned = (flags & FLAG_UNSENDABLE) !== 0
        this.fail(job, decodeError(payload, 0))
      }
    } catch (cause) {
      this.fail(job, new SerializationError(`The result of '${job.name}' cannot be decoded: ${(cause as Error).message}`, { cause }))
    }
  }

  /** An item or a progress value cannot be decoded: that fails the job, and not its worker. */
  undecodable(worker: PoolWorker, job: JobRecord, what: string, cause: unknown): void {
    if (job.isSettled) return
    const error = new SerializationError(`${what} of '${job.name}' cannot be decoded: ${(cause as Error).message}`, { cause })
    this.fail(job, error)
    worker.cancel(job, error)
    this.#watchCancelled(worker, job)
  }

  limit(worker: PoolWorker, delivery: number, stage: LimitStage, stack: string): void {
    if (stage === LimitStage.SOFT) {
      const job = worker.jobs.running.get(delivery)
      if (job !== undefined && !job.isSettled) this.#softTimedOut(job, worker)
      return
    }
    // The watchdog has closed the claim word for good: even if the answer comes first, this worker takes up no other job.
    worker.markDefective('claims closed')
    this.#pool.hub.whenReadEmpty(
      () => worker.readers,
      () => {
        const job = worker.jobs.running.get(delivery)
        if (job === undefined) {
          // It answered in time; while it drains it may have been given something since.
          worker.recall()
          this.#retirement.retire(worker, 'recycle')
        } else if (stage === LimitStage.HARD) this.#timeUp(worker, job, stack)
        else {
          if (!job.isSettled) {
            this.#softTimedOut(job)
            this.fail(job, this.#softError(job, stack))
          }
          this.#retirement.markUnresponsive(worker)
        }
      },
    )
  }

  // ---- cancellation

  /** False: it had settled already. */
  cancel(job: JobRecord, reason: unknown): boolean {
    if (job.isSettled) return false
    const error = reason === undefined ? new DOMException(`The job '${job.name}' was cancelled.`, 'AbortError') : reason
    const worker = job.state === 'queued' ? undefined : this.#pool.workers.get(job.worker)
    const running = job.state === 'accepted'
    this.settle(job, { state: 'cancelled', error })
    if (worker?.alive) {
      worker.cancel(job, error)
      if (running) this.#watchCancelled(worker, job)
    }
    return true
  }

  /** Cancels the job if it has not begun: at once, or when its worker has given it back. */
  withdraw(job: JobRecord, reason: unknown): void {
    if (job.isSettled || job.accepted) return
    if (job.state === 'queued') {
      this.cancel(job, reason)
      return
    }
    job.withdrawal ??= { reason }
    const worker = this.#pool.workers.get(job.worker)
    // From a worker that is gone it comes back without a recall.
    if (worker?.alive) worker.recall()
  }

  #watchCancelled(worker: PoolWorker, job: JobRecord): void {
    const { cancelGrace } = this.#pool.settings
    this.#deadline(worker, cancelGrace, () => {
      if (worker.alive && worker.jobs.running.get(job.delivery) === job)
        worker.killFor('killed by the pool', new Error(`The cancelled job '${job.name}' did not end within ${cancelGrace} ms.`))
    })
  }

  /** Calls `late` after `ms`, once what the worker has written is read. */
  #deadline(worker: PoolWorker, ms: number, late: () => void): PendingDeadline {
    return this.#pool.hub.deadlineAfterRead(ms, () => worker.readers, late)
  }

  // ---- limits

  /** The host's own deadlines: the fallback of the watchdog's, and the only ones without it. */
  #watchLimits(worker: PoolWorker, job: JobRecord): void {
    const { settings } = this.#pool
    const { softLimit, hardLimit } = job.spec
    const slack = settings.watchdog ? settings.cancelGrace : 0
    const end = (hardLimit > 0 ? hardLimit : softLimit + 5 * settings.cancelGrace) + slack
    const ask = (): void => {
      if (job.isSettled) return
      this.#softTimedOut(job, worker)
      worker.lifeline.requestSoftLimit(job)
    }
    const soft = !settings.watchdog && softLimit > 0 ? this.#deadline(worker, softLimit, ask) : undefined
    const hard = this.#deadline(worker, end, () => this.#timeUp(worker, job, NO_STACK))
    // Called when it settles, and before it runs again: the next attempt has limits of its own.
    job.endAttempt = () => {
      soft?.cancel()
      hard.cancel()
    }
  }

  #timeUp(worker: PoolWorker, job: JobRecord, stack: string): void {
    if (worker.jobs.running.get(job.delivery) !== job) return
    const { softLimit, hardLimit } = job.spec
    if (!job.isSettled) {
      if (hardLimit > 0) this.fail(job, new TimeLimitError(`The job '${job.name}' ran longer than its time limit of ${hardLimit} ms.`, hardLimit, stack))
      else {
        this.#softTimedOut(job)
        this.fail(job, this.#softError(job, stack))
      }
    }
    const limit = hardLimit > 0 ? `time limit of ${hardLimit}` : `soft time limit of ${softLimit}`
    worker.killFor('killed by the pool', new Error(`The job '${job.name}' ran longer than its ${limit} ms.`))
  }

  #softTimedOut(job: JobRecord, worker?: PoolWorker): void {
    if (job.softTimedOut) return
    job.softTimedOut = true
    job.emit('softTimeLimit')
    const { events } = this.#pool
    if (events.wants('softTimeLimit')) events.emit('softTimeLimit', { id: job.id, name: job.name, worker: worker?.id ?? job.worker })
  }

  #softError(job: JobRecord, stack: string): SoftTimeLimitError {
    const limit = job.spec.softLimit
    return new SoftTimeLimitError(`The job '${job.name}' did not end at its soft time limit of ${limit} ms.`, limit, stack)
  }

  // ---- put back (`jobs-of-dead-worker.ts`: lost, run again)

  /** A recall brought these back: none of them began. */
  recalled(worker: PoolWorker, jobs: readonly JobRecord[]): void {
    for (const job of jobs) {
      if (job.isSettled) job.markBegan(job.attempt > 1)
      else if (this.#pool.phase === 'terminating') this.closeUnbegun(job)
      else this.putBack(worker, job)
    }
  }

  /** The pool is terminated before the job has begun (or begun again). */
  closeUnbegun(job: JobRecord): void {
    job.inOutbox = false
    const begun = job.attempt > 1
    job.markBegan(begun)
    this.settle(job, { state: begun ? 'lost' : 'cancelled', error: poolClosedError(job, begun) })
  }

  /** It has not begun: it waits for a worker again. */
  putBack(worker: PoolWorker, job: JobRecord): void {
    const pool = this.#pool
    job.state = 'queued'
    job.worker = 0
    job.delivery = 0
    if (job.withdrawal !== undefined) {
      this.cancel(job, job.withdrawal.reason)
      return
    }
    pool.totals.putBack++
    if (pool.events.wants('jobPutBack')) pool.events.emit('jobPutBack', { id: job.id, name: job.name, worker: worker.id })
    if (job.broadcast !== undefined && job.attempt === 1) worker.reserved.putBackShare(job)
    else if (job.attempt > 1) worker.reserved.putBackRetry(job)
    else {
      job.inOutbox = true
      pool.outbox.putBack(job)
    }
  }
}
