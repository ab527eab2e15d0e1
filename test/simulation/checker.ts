import type { JobState, PoolEvents } from '../../src/pool/types.js'
import {
  MemoryLimitError,
  PoolClosedError,
  QueueFullError,
  SerializationError,
  SoftTimeLimitError,
  TimeLimitError,
  WorkerLostError,
  WorkerStartError,
} from '../../src/wire/errors.js'
import { MEMORY_LIMIT, type RunConfig } from './config.js'
import type { Coverage, Execution, History, JobHistory } from './history.js'
import { MAX_TRANSIT_MS } from './pipe.js'
import { isEndless, type Plan, resultOf } from './plans.js'
import type { SimProcess } from './process.js'
import type { SimSocket } from './socket.js'
import type { World } from './world.js'
import type { WriteAheadRule } from './write-ahead.js'

const HEARTBEAT_TIMEOUT = 7_000
/** Rounding error of sums of times, ms. */
const EPSILON = 0.001

/** Compares what the pool reports and does with what really happened. */
export class PromiseChecker {
  /** close() or terminate() was called. */
  closeCalled = false
  /** terminate() was called, or close() with a timeout. */
  terminated = false
  readonly #config: RunConfig
  readonly #world: World
  readonly #history: History
  readonly #coverage: Coverage
  readonly #processes: Map<number, SimProcess>
  readonly #writeAhead: WriteAheadRule
  /** Workers for which there never was a process. */
  #neverStarted = 0

  constructor(config: RunConfig, world: World, history: History, coverage: Coverage, processes: Map<number, SimProcess>, writeAhead: WriteAheadRule) {
    this.#config = config
    this.#world = world
    this.#history = history
    this.#coverage = coverage
    this.#processes = processes
    this.#writeAhead = writeAhead
    history.onJobTransition = (job, from, to) => this.#checkTransition(job, from, to)
    history.onSettled = (job) => this.#checkOutcome(job)
    history.onExecution = (job, execution) => this.#checkIsolation(job, execution)
  }

  // ---- state changes of jobs

  #checkTransition(job: JobHistory, from: JobState, to: JobState): void {
    const record = job.record!
    if (from === 'accepted' && to === 'cancelled' && record.spec.asks) this.#checkAsked(job)
    if (from === 'queued' && to === 'writing') {
      this.#checkNoCalls(job)
      this.#checkOrder(job)
      this.#writeAhead.check(record)
      this.#check(
        this.#processes.get(record.holder)?.lacksPipe !== true,
        () => `promise 2: job ${job.number} was sent to worker ${record.holder}, one of whose pipes the host never got`,
      )
      this.#check(
        this.#processes.get(record.holder)?.killed === undefined,
        () => `promise 2: job ${job.number} was sent to worker ${record.holder} after the pool had killed it`,
      )
    }
    if (to === 'queued' || to === 'lost') {
      const process = this.#processes.get(record.holder)
      if (from === 'writing' || from === 'written') {
        // The pool closes the pipes when it handles the worker's exit. Before that, a recall returned the job, which is no put-back.
        if (to === 'queued' && process?.lifeline.destroyed && job.askedAttempt === undefined) {
          job.putBacks++
          this.#check(job.putBacks <= this.#config.maxPutBacks, () => `promise 2: job ${job.number} was put back ${job.putBacks} times`)
        }
        const execution = job.executions.find(({ worker, delivery }) => worker === record.holder && delivery === record.delivery)
        this.#check(execution === undefined, () => `promise 1: job ${job.number} was put back from worker ${record.holder}, where it had begun`)
      }
      if (from === 'accepted' && to === 'queued') job.retries++
      if (from === 'accepted' && process !== undefined && !process.pipeBroken && !this.terminated) {
        this.#check(
          !process.main.answeredAt.has(record.delivery),
          () => `promise 3: job ${job.number} counts as lost, but its complete result was in the pipe of worker ${record.holder}`,
        )
        this.#check(!process.alive, () => `promise 3: job ${job.number} counts as lost, but worker ${record.holder} is alive`)
      }
    }
  }

  /** A job that was asked to end rejects with the reason only when its task runs no more, and has given no answer. */
  #checkAsked({ number, record, running }: JobHistory): void {
    const { holder, delivery } = record!
    this.#check(running === undefined, () => `promise 4: job ${number} was asked to end, and rejected while it runs in worker ${running?.worker}`)
    const process = this.#processes.get(holder)
    if (process === undefined || process.pipeBroken || this.terminated || process.watchdog.interrupted.has(delivery)) return
    this.#check(
      !process.main.answeredAt.has(delivery),
      () => `promise 4: job ${number} was asked to end and rejected with the reason, but its complete result was in the pipe of worker ${holder}`,
    )
  }

  /** A job that is taken from the job queue must be the first of the waiting jobs. */
  #checkOrder(job: JobHistory): void {
    const record = job.record!
    if (record.attempt > 1 || record.broadcast !== undefined) return
    for (const other of this.#history.jobs.values()) {
      const waiting = other.record
      if (waiting === undefined || waiting === record || !waiting.inJobQueue || waiting.state !== 'queued') continue
      const comesFirst = waiting.priority > record.priority || (waiting.priority === record.priority && waiting.number < record.number)
      this.#check(!comesFirst, () => `promise 2: job ${job.number} was taken from the job queue before job ${waiting.number}, which comes first`)
    }
  }

  /** A retried job must run alone in its worker until it settles. Cancelled jobs may still run beside it. */
  #checkIsolation(job: JobHistory, { worker, attempt }: Execution): void {
    if (this.#config.concurrency === 1) return
    const isRetry = ({ record }: JobHistory, itsAttempt: number): boolean => itsAttempt > 1 && record?.isSettled === false
    for (const other of this.#history.jobs.values()) {
      const { running } = other
      if (other === job || running?.worker !== worker) continue
      const mustBeAlone = isRetry(job, attempt) || isRetry(other, running.attempt)
      this.#check(!mustBeAlone, () => `promise 3: jobs ${job.number} and ${other.number} run together in worker ${worker}, and one of them is a retry`)
    }
  }

  /** The calls of an attempt end with it. */
  #checkNoCalls({ number, record }: JobHistory): void {
    const left = record?.spec.calls?.outstanding ?? 0
    this.#check(left === 0, () => `calls: job ${number} has ${left} unanswered calls and does not run`)
  }

  // ---- outcomes of jobs

  #checkOutcome(job: JobHistory): void {
    const { outcome, record, plan } = job
    if (outcome === undefined || record === undefined || plan === undefined) return
    this.#checkNoCalls(job)
    if (job.askedAttempt !== undefined) this.#coverage.outcome(`asked to end: ${record.state}`)
    this.#world.trace(`job ${job.number} settled: ${'value' in outcome ? 'a value' : String(outcome.error)}`)
    if ('value' in outcome) {
      this.#coverage.outcome('succeeded')
      this.#check(record.state === 'succeeded', () => `promise 3: job ${job.number} resolved in state ${record.state}`)
      const last = job.executions.at(-1)
      const expected = resultOf(plan, last?.attempt ?? 0) as Record<string, unknown>
      const value = outcome.value as Record<string, unknown>
      const same = Object.keys(expected).every((key) => value?.[key] === expected[key]) && isOwn(value?.echo, plan)
      this.#check(
        last?.endedAt !== undefined && same,
        () => `promise 7: job ${job.number} resolved with ${JSON.stringify(outcome.value)}, not with its own result`,
      )
      return
    }
    const { error } = outcome
    this.#coverage.outcome(error instanceof Error ? error.name : String(error))
    this.#check(record.state !== 'succeeded', () => `promise 3: job ${job.number} rejected in state 'succeeded'`)
    const objection = this.#objectionTo(job, error)
    this.#check(objection === undefined, () => `promise 3: job ${job.number} (${plan.kind}, ${record.state}) rejected with ${String(error)}, but ${objection}`)
  }

  /** Why the job must not reject with this error; undefined: the error is correct. */
  #objectionTo(job: JobHistory, error: unknown): string | undefined {
    const { plan, record } = job
    const last = job.executions.at(-1)
    const process = this.#processes.get(record!.holder)
    if (record!.state === 'cancelled' && !(error instanceof PoolClosedError)) {
      if (job.cancelledAt === undefined) return 'the job was not cancelled'
      return error === job.cancelReason ? undefined : `the reason was ${String(job.cancelReason)}`
    }
    if (job.askedAttempt !== undefined) return this.#objectionToAnswer(job, error)
    if (error instanceof WorkerLostError) {
      if (error.accepted) return process === undefined || process.alive ? 'its worker is alive' : this.#objectionToLoss(job, process, error)
      if (job.executions.length > 0) return 'the job had begun'
      return job.putBacks < this.#config.maxPutBacks ? `the job was put back only ${job.putBacks} times` : undefined
    }
    if (error instanceof PoolClosedError) return this.terminated || (this.closeCalled && job.refused) ? undefined : 'the pool had to finish the job'
    if (error instanceof QueueFullError) return this.#config.maxQueue === undefined ? 'the queue is unbounded' : undefined
    if (error instanceof WorkerStartError) return this.#failedStarts() < 3 ? 'too few starts failed' : undefined
    if (error instanceof TimeLimitError) return this.#objectionToLimit(last, process, record!.spec.hardLimit)
    if (error instanceof SoftTimeLimitError) return this.#objectionToLimit(last, process, record!.spec.softLimit)
    if (error instanceof MemoryLimitError)
      return process === undefined || process.peakRss < MEMORY_LIMIT ? 'the memory of its worker is below the limit' : undefined
    if (error instanceof SerializationError) return plan!.kind === 'unsendable' ? undefined : 'its argument and result can be sent'
    if (error instanceof RangeError) return plan!.kind === 'throw' ? undefined : 'the task threw no error'
    return 'no event explains the error'
  }

  /** A job that was asked to end fails only with an error of its task. */
  #objectionToAnswer({ plan, cancelReason }: JobHistory, error: unknown): string | undefined {
    if (error instanceof SerializationError) return plan!.kind === 'unsendable' ? undefined : 'its result can be sent'
    if (error instanceof RangeError) return plan!.kind === 'throw' ? undefined : 'the task threw no error'
    // The reason of its signal is that of the cancellation, or the soft limit that had passed before.
    const isReason =
      error instanceof Error && (error.message === (cancelReason as Error).message || /^The soft time limit of \d+ ms has passed$/.test(error.message))
    return isReason && plan!.kind === 'sleep' && plan!.eager ? undefined : 'it was asked to end, and its task threw no such error'
  }

  #objectionToLoss(job: JobHistory, process: SimProcess, { reason, signal }: WorkerLostError): string | undefined {
    if (reason !== 'put back too often' && job.retries < job.retryLost) return `the job was retried only ${job.retries} times`
    return reason === 'signal' && signal === 'SIGKILL' && process.killed !== undefined ? 'the pool killed the worker and does not report why' : undefined
  }

  /** A limit applies only to a job that really ran that long, and that had not answered by then. */
  #objectionToLimit(last: Execution | undefined, process: SimProcess | undefined, limit: number): string | undefined {
    if (limit === 0) return 'the job has no such limit'
    if (last === undefined || process === undefined) return 'the job had not begun'
    if (this.#world.now - last.beganAt < limit - EPSILON) return 'the limit had not passed'
    // Bytes in transit in a broken pipe are lost.
    const answeredAt = process.pipeBroken ? undefined : process.main.answeredAt.get(last.delivery)
    return answeredAt !== undefined && answeredAt < Math.min(last.beganAt + limit - EPSILON, this.#world.now - MAX_TRANSIT_MS)
      ? 'the job had answered before'
      : undefined
  }

  #failedStarts(): number {
    const failed = [...this.#processes.values()].filter(
      ({ alive, main, killed, isCutOff }) => (!alive || killed !== undefined || isCutOff) && main.accepted === 0,
    )
    return failed.length + this.#neverStarted
  }

  // ---- exits of workers

  /** The reason for which the pool killed a worker must have been true when it did so. */
  workerExited({ worker, reason, expected }: PoolEvents['workerExit']): void {
    const process = this.#processes.get(worker)
    this.#world.trace(`worker ${worker} exited: ${reason}${expected ? ' (expected)' : ''}`)
    if (process === undefined) {
      // It was asked of a launcher process, which died, or could not start it.
      this.#neverStarted++
      return
    }
    // Of one that is cut off the host may not even know the process id.
    this.#check(!process.alive || process.isCutOff, () => `promise 11: worker ${worker} is counted as ended, and its process lives`)
    const { killed } = process
    if (expected || this.terminated || killed === undefined) return
    const { at, sinceFrame, recentGap } = killed
    const { detachedHangSince } = process.main
    const checkReason = (holds: boolean): void =>
      this.#check(holds || process.pipeBroken, () => `promise 10: worker ${worker} was killed without cause: ${reason} ${JSON.stringify(killed)}`)
    const heartbeatTimeout = HEARTBEAT_TIMEOUT - EPSILON
    // What a pipe held before the host was given it came with it.
    const seenAt = (pipe: SimSocket, writtenAt: number | undefined): number =>
      Math.max(writtenAt ?? Number.POSITIVE_INFINITY, pipe.givenAt ?? Number.POSITIVE_INFINITY)
    const isSilent = sinceFrame >= heartbeatTimeout || seenAt(process.lifeline, 0) > at - MAX_TRANSIT_MS
    const isBlocked = detachedHangSince !== undefined && at - detachedHangSince >= heartbeatTimeout
    // A frame that ends the gap may be in transit while the host decides.
    if (reason.includes('watchdog was silent')) checkReason(isSilent || (sinceFrame < MAX_TRANSIT_MS && recentGap >= heartbeatTimeout))
    else if (reason.startsWith('The process had not begun'))
      checkReason(seenAt(process.results, process.helloAt) > process.startedAt + deadlineOf(reason) - MAX_TRANSIT_MS)
    else if (reason.startsWith('The task modules')) checkReason(seenAt(process.results, process.upAt) > process.helloAt! + deadlineOf(reason) - MAX_TRANSIT_MS)
    else if (reason.includes('did not end within')) {
      const wasCancelled = ({ delivery }: Execution): boolean => killed.unread || process.watchdog.cancelRequests.has(delivery)
      checkReason(this.#unanswered(worker, at).some(({ job, execution }) => at >= graceEndsAt(job) - EPSILON && wasCancelled(execution)))
    } else if (reason.includes('with a grace of 0 ms')) {
      checkReason(this.#unanswered(worker, at).some(({ job }) => at >= graceEndsAt(job) - EPSILON))
    } else if (reason.includes('ran longer than')) {
      checkReason(this.#unanswered(worker, at).some(({ job, execution, endedAt }) => endedAt - execution.beganAt >= limitOf(job) - MAX_TRANSIT_MS))
    } else if (reason.includes('did not turn')) checkReason(process.watchdog.claimsClosed)
    else if (reason.includes('while no job ran')) checkReason(isSilent || recentGap >= heartbeatTimeout || isBlocked)
    else if (reason.includes('was to be replaced'))
      // A blocked worker may also be killed for this reason: a host that often stalls may never measure the full silence.
      checkReason(this.#unanswered(worker, at).length > 0 || isSilent || isBlocked)
    else if (reason.includes('resident memory')) checkReason(process.peakRss > MEMORY_LIMIT)
    else if (/pipe was closed|EPIPE|ECONNRESET|A frame of/.test(reason)) checkReason(process.pipeBroken || process.diedAt !== undefined)
    else checkReason(reason === 'signal' || reason === 'exit')
  }

  /** The pool takes a worker for one that stalls while it runs no job. */
  workerQuarantined(worker: number): void {
    const process = this.#processes.get(worker)
    if (process === undefined || !process.alive || process.pipeBroken) return
    const { now } = this.#world
    // A job whose ACCEPTED may be in transit is one that the pool could not see.
    const seen = this.#unanswered(worker, now).filter(
      ({ execution: { beganAt, delivery } }) => now - beganAt > MAX_TRANSIT_MS && !process.main.answeredAt.has(delivery),
    )
    this.#check(seen.length === 0, () => `promise 3: worker ${worker} counts as stalled without a job, but runs job ${seen[0]?.job.number}`)
  }

  /** The executions in a worker that had no answer when it was killed. An answer that may still have been in transit does not count. */
  #unanswered(worker: number, at: number): { job: JobHistory; execution: Execution; endedAt: number }[] {
    return [...this.#history.jobs.values()].flatMap((job) =>
      job.executions
        .map((execution) => ({ job, execution, endedAt: this.#processes.get(worker)?.main.answeredAt.get(execution.delivery) ?? at }))
        .filter(({ execution, endedAt }) => execution.worker === worker && endedAt >= at - MAX_TRANSIT_MS),
    )
  }

  // ---- the end of the run

  /** Checks every job and every worker after the pool has closed. */
  checkAtEnd(): void {
    for (const job of this.#history.jobs.values()) {
      const { record, number, executions, plan } = job
      const maxExecutions = 1 + job.retryLost
      this.#check(executions.length <= maxExecutions, () => `promise 3: job ${number} began ${executions.length} times; at most ${maxExecutions} are allowed`)
      if (record === undefined || plan === undefined) continue
      this.#check(job.settled === 1, () => `promise 3: job ${number} (${plan.kind}) is in state ${record.state} and settled ${job.settled} times`)
      const began = executions.length > 0
      this.#check(job.reportedBegan !== undefined, () => `promise 1: the pool did not report whether job ${number} began`)
      const { askedAttempt } = job
      if (askedAttempt !== undefined)
        this.#check(
          executions.every(({ attempt }) => attempt <= askedAttempt),
          () => `promise 4: job ${number} was asked to end in attempt ${askedAttempt}, and ran again`,
        )
      if (began) this.#check(job.reportedBegan === true, () => `promise 1: job ${number} began, but the pool reported that it did not`)
      this.#check(!(record.state === 'succeeded' && isEndless(plan)), () => `promise 5: job ${number} succeeded, but its task never ends`)
    }
    for (const { id, main } of this.#processes.values()) {
      const maxJobs = this.#config.maxJobsPerWorker ?? Number.POSITIVE_INFINITY
      this.#check(main.accepted <= maxJobs, () => `promise 11: worker ${id} accepted ${main.accepted} jobs; at most ${maxJobs} are allowed`)
    }
  }

  #check(holds: boolean, message: () => string): void {
    this.#history.check(holds, message)
  }
}

/** Bytes that came back are those that were sent. */
const isOwn = (echo: unknown, { padding }: Plan): boolean => echo === undefined || (padding?.equals(echo as Buffer) ?? false)

/** When the job's process may be ended, ms; Infinity if it was not cancelled. -Infinity for the job of a stream or map, whose cancellation is not recorded. */
const graceEndsAt = ({ graceEndsAt: at, record }: JobHistory): number => at ?? (record === undefined ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY)

const deadlineOf = (reason: string): number => Number(/within (\d+) ms/.exec(reason)?.[1])
const limitOf = ({ record }: JobHistory): number => {
  const spec = record?.spec
  if (spec === undefined) return Number.POSITIVE_INFINITY
  return spec.hardLimit > 0 ? spec.hardLimit : spec.softLimit > 0 ? spec.softLimit : Number.POSITIVE_INFINITY
}
