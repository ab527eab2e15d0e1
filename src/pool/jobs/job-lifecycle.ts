import { decode } from '../../wire/codec/index.js'
import { SerializationError } from '../../wire/errors.js'
import { FLAG_ERROR, FLAG_INTERRUPTED, FLAG_SOFT, FLAG_UNSENDABLE, LimitStage } from '../../wire/messages.js'
import { decodeError } from '../../wire/remote-error/index.js'
import { jobInBrief, poolClosedError } from '../errors.js'
import type { Retirement } from '../fleet/retirement.js'
import type { PoolState } from '../pool-state.js'
import type { QueueCapacity } from '../queue/queue-capacity.js'
import type { PoolWorker } from '../worker/worker.js'
import { CancelGrace } from './cancel-grace.js'
import type { JobOwner, JobRecord } from './job.js'
import type { Cancellation, JobOutcome } from './job-end.js'
import { TimeLimits } from './time-limits.js'

/** Moves jobs between states: queued → writing → written → accepted → succeeded, failed, cancelled or lost; a put-back or a retry returns to queued. `settle` takes effect once per job. */
export class JobLifecycle implements JobOwner {
  readonly #pool: PoolState
  readonly #retirement: Retirement
  readonly #capacity: QueueCapacity
  readonly #timeLimits: TimeLimits
  readonly #cancelGrace: CancelGrace

  constructor(pool: PoolState, retirement: Retirement, capacity: QueueCapacity) {
    this.#pool = pool
    this.#retirement = retirement
    this.#capacity = capacity
    this.#timeLimits = new TimeLimits(pool, (job, error) => this.fail(job, error))
    this.#cancelGrace = new CancelGrace(pool)
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
    pool.removeUnsettled()
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
        // This can be a worker that may not have begun the job. It is named because it is killed if the task does not end.
        worker: job.holder === 0 ? undefined : job.holder,
        ms: now - job.spec.submittedAt,
        error: outcome.state === 'succeeded' ? undefined : outcome.error,
      })
    }
    // The start of a second worker may have waited for the first job.
    if (pool.starts.settled()) pool.requestBalance()
    if (pool.phase !== 'open' || this.#capacity.hasWaiters) pool.hub.wake()
    job.notifySettled()
  }

  fail(job: JobRecord, error: unknown): void {
    this.settle(job, { state: 'failed', error })
  }

  accepted(worker: PoolWorker, job: JobRecord, now = this.#pool.hub.now()): void {
    job.markBegan(true)
    job.ranIn = worker.id
    // The job was cancelled on its way, but the worker claimed it first. From now on it is a running job that was cancelled.
    if (job.cancellation !== undefined) this.#cancelGrace.begin(worker, job)
    if (job.isSettled) return
    const pool = this.#pool
    job.withdrawal = undefined
    job.state = 'accepted'
    job.acceptedAt = now
    pool.queued--
    if (++pool.running > pool.peakRunning) pool.peakRunning = pool.running
    if (job.attempt === 1) pool.waitTimes.record(now - job.spec.submittedAt)
    if (job.limits.softLimit > 0 || job.limits.hardLimit > 0) this.#timeLimits.watch(worker, job)
    if (pool.events.wants('jobAccepted')) pool.events.emit('jobAccepted', { id: job.id, name: job.name, worker: worker.id, attempt: job.attempt })
    // Last: the follower may cancel the job in this call, and the events of that must come after `jobAccepted`.
    job.notifyBegan()
  }

  /** `ended`: ms on the hub's clock. The worker's time if the acceptance was recorded, otherwise the time at which the answer was read. */
  answered(job: JobRecord, flags: number, payload: Buffer, now: number, ended: number): void {
    const { cancellation } = job
    cancellation?.deadline?.cancel()
    if (job.isSettled) return
    if ((flags & FLAG_SOFT) !== 0) this.#timeLimits.softReached(job)
    if (cancellation === undefined) this.#pool.taskMeters.record(job.task, ended - job.acceptedAt)
    else if ((flags & FLAG_INTERRUPTED) !== 0 || (job.streaming && (flags & FLAG_ERROR) === 0)) {
      // The task was interrupted, or its generator was closed. So the frame is no answer of the task.
      this.endCancelled(job, cancellation)
      return
    }
    if ((flags & FLAG_INTERRUPTED) !== 0) {
      this.#timeLimits.failSoft(job, payload.toString('utf8'))
      return
    }
    try {
      if ((flags & FLAG_ERROR) === 0) {
        const value = payload.length === 0 ? undefined : decode(payload, 0)
        this.settle(job, { state: 'succeeded', value }, now)
      } else {
        job.resultUnsendable = (flags & FLAG_UNSENDABLE) !== 0
        this.fail(job, decodeError(payload, 0))
      }
    } catch (cause) {
      this.fail(job, new SerializationError(`The result of '${job.name}' cannot be decoded: ${(cause as Error).message}`, { cause }))
    }
  }

  /** An item or a progress value cannot be decoded. Only the job fails, not its worker. */
  undecodable(worker: PoolWorker, job: JobRecord, what: string, cause: unknown): void {
    // A cancelled job settles as cancelled when its task ends.
    if (job.isSettled || job.cancellation !== undefined) return
    const error = new SerializationError(`${what} of '${job.name}' cannot be decoded: ${(cause as Error).message}`, { cause })
    this.fail(job, error)
    this.#stop(worker, job, this.#cancellation(job, error))
  }

  limit(worker: PoolWorker, delivery: number, stage: LimitStage, stack: string): void {
    if (stage === LimitStage.SOFT) {
      const job = worker.jobs.running.get(delivery)
      if (job !== undefined && !job.isSettled) this.#timeLimits.softReached(job, worker)
      return
    }
    // The watchdog has closed the claim word for good. So this worker begins no other job, even if the answer comes first.
    worker.markDefective('claims closed')
    const act = (): void => {
      const job = worker.jobs.running.get(delivery)
      if (job === undefined) {
        // The job was answered before the kill. Other jobs may have been written to the worker meanwhile. Its claim word is closed, so they are recalled.
        worker.recall()
        this.#retirement.retire(worker, 'recycle')
      } else if (stage === LimitStage.HARD) this.#timeLimits.reached(worker, job, stack)
      else {
        if (!job.isSettled && job.cancellation === undefined) this.#timeLimits.failSoft(job, stack)
        this.#retirement.markUnresponsive(worker, `${job.cancellation === undefined ? 'soft time limit' : 'cancellation'} of ${jobInBrief(job)}`)
      }
    }
    this.#pool.hub.whenReadEmpty(() => worker.readers, act)
  }

  /** False: the job had settled already. */
  cancel(job: JobRecord, reason: unknown, grace?: number): boolean {
    if (job.isSettled) {
      this.#cancelGrace.shorten(job, grace)
      return false
    }
    const error = reason === undefined ? new DOMException(`The job '${job.name}' was cancelled.`, 'AbortError') : reason
    const worker = job.state === 'queued' ? undefined : this.#pool.workers.get(job.holder)
    worker?.recorded.acceptIfRecorded()
    // Reading the record can accept the job, which runs listeners. They may have settled the job.
    if (job.isSettled) return false
    if (job.cancellation !== undefined) {
      this.#cancelGrace.shorten(job, grace)
      return true
    }
    const cancellation = this.#cancellation(job, error, grace)
    const running = job.state === 'accepted'
    // With `cancel: 'ask'`, a job that was written settles later: its worker may have begun it, which is not known until the worker answers.
    if (worker === undefined || !job.spec.asks) this.settle(job, { state: 'cancelled', error })
    if (worker?.alive) this.#stop(worker, job, cancellation, running)
    return true
  }

  #cancellation(job: JobRecord, reason: unknown, grace = this.#pool.settings.cancelGrace): Cancellation {
    const cancellation: Cancellation = { reason, grace, endsAt: 0, deadline: undefined }
    job.cancellation = cancellation
    return cancellation
  }

  /** Tells the worker to stop the job. `running`: the job is known to have begun. */
  #stop(worker: PoolWorker, job: JobRecord, { reason, grace }: Cancellation, running = true): void {
    // A job that has not settled (`cancel: 'ask'`) is never interrupted: its promise waits for the answer of the task, which an interruption would discard.
    const interruptFor = job.isSettled ? Math.max(1, grace) : 0
    // A running task without time left is not asked: its process is ended.
    if (!running || grace > 0) worker.cancel(job, reason, interruptFor)
    if (running) this.#cancelGrace.begin(worker, job)
  }

  /** The task of a cancelled job has ended without an answer, its process is gone, or its worker has given it back. */
  endCancelled(job: JobRecord, { reason, deadline }: Cancellation): void {
    deadline?.cancel()
    this.settle(job, { state: 'cancelled', error: reason })
  }

  /** Cancels the job if it does not run: at once, or when its worker has given it back. */
  withdraw(job: JobRecord, reason: unknown): void {
    if (job.isSettled || job.state === 'accepted') return
    if (job.state === 'queued') {
      this.cancel(job, reason)
      return
    }
    job.withdrawal ??= { reason }
    const worker = this.#pool.workers.get(job.holder)
    // From a dead worker, the job comes back without a recall.
    if (worker?.alive) worker.recall()
  }

  /** A recall brought these jobs back: none of them has begun. */
  recalled(worker: PoolWorker, jobs: readonly JobRecord[]): void {
    for (const job of jobs) {
      if (job.isSettled) job.markBegan(job.attempt > 1)
      else if (this.#pool.phase === 'terminating' && job.cancellation === undefined) this.closeUnbegun(job)
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

  /** The job has not begun: it waits for a worker again. */
  putBack(worker: PoolWorker, job: JobRecord): void {
    const pool = this.#pool
    job.state = 'queued'
    job.holder = 0
    job.delivery = 0
    if (job.cancellation !== undefined) {
      this.endCancelled(job, job.cancellation)
      return
    }
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
