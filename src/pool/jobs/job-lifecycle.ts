import { decode } from '../../wire/codec/index.js'
import { SerializationError } from '../../wire/errors.js'
import { FLAG_ERROR, FLAG_INTERRUPTED, FLAG_SOFT, FLAG_UNSENDABLE, LimitStage } from '../../wire/messages.js'
import { decodeError } from '../../wire/remote-error/index.js'
import { poolClosedError } from '../errors.js'
import type { Retirement } from '../fleet/retirement.js'
import type { PoolState } from '../pool-state.js'
import type { QueueCapacity } from '../queue/queue-capacity.js'
import type { PoolWorker } from '../worker/worker.js'
import type { JobOutcome, JobOwner, JobRecord } from './job.js'
import { TimeLimits } from './time-limits.js'

/** Moves jobs between states: queued → writing → written → accepted → succeeded, failed, cancelled or lost; a put-back or a retry returns to queued. `settle` takes effect once per job. */
export class JobLifecycle implements JobOwner {
  readonly #pool: PoolState
  readonly #retirement: Retirement
  readonly #capacity: QueueCapacity
  readonly #timeLimits: TimeLimits

  constructor(pool: PoolState, retirement: Retirement, capacity: QueueCapacity) {
    this.#pool = pool
    this.#retirement = retirement
    this.#capacity = capacity
    this.#timeLimits = new TimeLimits(pool, (job, error) => this.fail(job, error))
  }

  get poolId(): string {
    return this.#pool.id
  }

  /** `now`: ms on the hub's clock, where the caller has just read it. */
  settle(job: JobRecord, outcome: JobOutcome, now = this.#pool.hub.now()): void {
    if (job.isSettled) return
    const pool = this.#pool
    if (job.state === 'accepted') pool.running--
    else pool.queued--
    if (job.inJobQueue) {
      job.inJobQueue = false
      pool.jobQueue.forget()
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
    if (job.spec.softLimit > 0 || job.spec.hardLimit > 0) this.#timeLimits.watch(worker, job)
    if (pool.events.wants('jobAccepted')) pool.events.emit('jobAccepted', { id: job.id, name: job.name, worker: worker.id, attempt: job.attempt })
    // Last: the follower may cancel the job in this call, and those events must come after `jobAccepted`.
    job.notifyBegan()
  }

  answered(job: JobRecord, flags: number, payload: Buffer, now: number): void {
    if (job.isSettled) return
    this.#pool.taskMeters.record(job.task, now - job.acceptedAt)
    if ((flags & FLAG_SOFT) !== 0) this.#timeLimits.softReached(job)
    if ((flags & FLAG_INTERRUPTED) !== 0) {
      this.#timeLimits.failSoft(job, payload.toString('utf8'))
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
      if (job !== undefined && !job.isSettled) this.#timeLimits.softReached(job, worker)
      return
    }
    // The watchdog has closed the claim word for good: even if the answer comes first, this worker takes up no other job.
    worker.markDefective('claims closed')
    const act = (): void => {
      const job = worker.jobs.running.get(delivery)
      if (job === undefined) {
        // It answered before the kill. It may have been written other jobs meanwhile, which its closed claim word will never begin: take them back.
        worker.recall()
        this.#retirement.retire(worker, 'recycle')
      } else if (stage === LimitStage.HARD) this.#timeLimits.reached(worker, job, stack)
      else {
        if (!job.isSettled) this.#timeLimits.failSoft(job, stack)
        this.#retirement.markUnresponsive(worker)
      }
    }
    this.#pool.hub.whenReadEmpty(() => worker.readers, act)
  }

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
    const late = (): void => {
      if (worker.alive && worker.jobs.running.get(job.delivery) === job)
        worker.killFor('killed by the pool', new Error(`The cancelled job '${job.name}' did not end within ${cancelGrace} ms.`))
    }
    this.#pool.hub.deadlineAfterRead(cancelGrace, () => worker.readers, late)
  }

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
    job.inJobQueue = false
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
      job.inJobQueue = true
      pool.jobQueue.putBack(job)
    }
  }
}
