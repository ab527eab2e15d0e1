import { type Limits, limitsWithin } from '../../util/limits.js'
import { SOFT_TO_KILL } from '../../wire/messages.js'
import type { JobRecord } from '../jobs/job.js'
import type { JobLifecycle } from '../jobs/job-lifecycle.js'
import { unknownTask } from '../jobs/submission.js'
import type { PoolState } from '../pool-state.js'
import { MAX_AHEAD_BYTES } from '../worker/in-flight-jobs.js'
import type { PoolWorker } from '../worker/worker.js'
import { LONG_MS } from './task-meters.js'

/** The most time that one tick spends on dispatch, ms: the host has other work. */
const TICK_MS = 2
/** In one tick this many jobs that wait for a worker with newer task modules are passed over, so that others do not wait behind them. */
const MAX_PASSED_OVER = 64
/** The clock is read after this many jobs. */
const CLOCK_EVERY = 64
/** The clock is read after each job of this size, bytes: its arguments are copied when it is written. */
const LARGE = 256 * 1024
/** Jobs written ahead in one worker's pipe under 'fast'. */
const FAST_AHEAD = 256
/** A main thread that has not turned for this long accepts no job, even if it runs none, ms. */
const MAIN_STUCK_MS = 1_000

const inFlightIn = ({ jobs }: PoolWorker): number => jobs.inFlight

/** Dispatches the jobs of the job queue to the workers in each tick, and recalls jobs that wait in a worker for too long. */
export class Dispatcher {
  readonly #pool: PoolState
  readonly #jobs: JobLifecycle
  /** Number of jobs that may be in one worker, in its pipe and running. `concurrency` with 'fair' and 'adaptive', where `#mayWriteAhead` may allow more. */
  readonly #window: number
  readonly #adaptive: boolean
  readonly #mayRecall: boolean
  #recallArmed = false
  /** Slots that may still be taken up in this tick. */
  #freeSlots = 0
  /** The same as `#freeSlots`, for spare workers, which have slots of their own. */
  #freeSpareSlots = 0
  /** No worker could take the job at the head of the job queue in the last tick. */
  saturated = false

  constructor(pool: PoolState, jobs: JobLifecycle) {
    this.#pool = pool
    this.#jobs = jobs
    const { dispatch, concurrency, watchdog } = pool.settings
    // Without a watchdog a busy worker cannot be recalled, so nothing is written ahead to it.
    this.#adaptive = dispatch === 'adaptive' && watchdog
    this.#mayRecall = dispatch === 'adaptive' || dispatch === 'fair'
    if (typeof dispatch === 'number') this.#window = Math.max(dispatch, concurrency)
    else this.#window = dispatch === 'fast' ? concurrency + FAST_AHEAD : concurrency
  }

  tick(): void {
    const pool = this.#pool
    // The jobs that a worker runs decide what is written ahead to it. Acceptances come before the dispatch, because they may run code of the caller.
    if (this.#adaptive && pool.jobQueue.size > 0) pool.findAccepted()
    this.#countFreeSlots()
    // Read once: each reading costs several calls, and a tick is short.
    const now = pool.hub.now()
    const ready: PoolWorker[] = []
    for (const worker of pool.workers.values()) {
      if (!worker.reserved.idle && (worker.isUp || worker.isDraining)) this.#writeReserved(worker, now)
      if (this.#isAvailable(worker, now)) ready.push(worker)
    }
    const more = this.#dispatch(ready, now)
    for (const worker of pool.workers.values()) {
      if (!worker.alive) continue
      if (worker.recorded.possible && this.#shouldRecord(worker)) worker.recorded.begin()
      worker.flush()
    }
    if (more) pool.hub.wake()
    this.#armRecall()
  }

  /** Whether the worker is to record that it accepts its only job: nobody waits for that moment, and an ACCEPTED would wake the host. */
  #shouldRecord(worker: PoolWorker): boolean {
    const { events, queued, settings, taskMeters } = this.#pool
    const job = worker.jobs.sent.peek()!
    if (taskMeters.isTiny(job.task)) return false
    // A worker is replaced while it runs its last job, so the pool must see that it begins. When the queue is nearly full, a caller may wait for room.
    return job.spec.unobserved && job.attempt === 1 && this.#quota(worker) > 0 && 2 * queued < settings.maxQueue && !events.wants('jobAccepted')
  }

  /** The jobs that wait for this worker alone: isolated retries first, then shares of broadcasts. */
  #writeReserved(worker: PoolWorker, now: number): void {
    if (worker.recalls > 0 || worker.unusable) return
    const { jobs, reserved } = worker
    reserved.endRetry()
    while (reserved.retrying === undefined && reserved.hasRetries && jobs.inFlight === 0 && this.#mayTake(worker)) {
      const job = reserved.nextRetry()!
      if (job.isSettled) continue
      if (!worker.tasks.has(job.task)) {
        this.#failUnknown(worker, job)
        continue
      }
      reserved.beginRetry(job)
      this.#assign(worker, job, now)
    }
    while (reserved.hasShares && !reserved.isolated && this.#mayTake(worker)) {
      const job = reserved.nextShare()!
      if (job.isSettled) continue
      if (worker.tasks.has(job.task)) this.#assign(worker, job, now)
      else this.#failUnknown(worker, job)
    }
  }

  /** The worker does not know the task: its task modules are of another version than those of the worker that announced it. */
  #failUnknown(worker: PoolWorker, job: JobRecord): void {
    this.#jobs.fail(job, unknownTask(job.task, [...worker.tasks.keys()], job.spec.calledAs))
  }

  #mayTake(worker: PoolWorker): boolean {
    return this.#slotsFor(worker) > 0 && this.#quota(worker) > 0
  }

  #isAvailable(worker: PoolWorker, now: number): boolean {
    return (
      worker.isUp &&
      !worker.unusable &&
      !worker.spare &&
      worker.recalls === 0 &&
      worker.reserved.idle &&
      !worker.blocked &&
      worker.progress.pausedUntil <= now &&
      this.#quota(worker) > 0
    )
  }

  /** Number of jobs that the worker may still get before it is recycled. */
  #quota(worker: PoolWorker): number {
    return worker.jobs.quota(this.#pool.settings.maxJobsPerWorker)
  }

  /** Counts the slots that are not taken up: a draining worker passes its slots on to its successor one by one. */
  #countFreeSlots(): void {
    const { workers, settings, slotTarget } = this.#pool
    let used = 0
    let usedBySpares = 0
    for (const worker of workers.values()) {
      if (!worker.alive) continue
      const slots = worker.jobs.slotsUsed(settings.concurrency)
      if (worker.spare) usedBySpares += slots
      else used += slots
    }
    this.#freeSlots = slotTarget * settings.concurrency - used
    // A spare worker that was promoted while it ran a share keeps its slot, and its predecessor may still run something.
    this.#freeSpareSlots = settings.spare * settings.concurrency - usedBySpares + Math.min(0, this.#freeSlots)
  }

  #slotsFor(worker: PoolWorker): number {
    const free = this.#pool.settings.concurrency - worker.jobs.inFlight
    // Spare workers have slots of their own, for broadcasts.
    return Math.min(free, worker.spare ? this.#freeSpareSlots : this.#freeSlots)
  }

  /** How many more jobs of any task may be written to the worker now. */
  #capacity(worker: PoolWorker): number {
    const { concurrency } = this.#pool.settings
    const { inFlight, sentBytes } = worker.jobs
    if (inFlight < concurrency || this.#window === concurrency) return Math.min(this.#slotsFor(worker), this.#quota(worker))
    if (sentBytes > MAX_AHEAD_BYTES) return 0
    return Math.min(this.#window - inFlight, this.#quota(worker))
  }

  /** Whether this short job may be written to a worker without a free slot, whose jobs are short as well. */
  #mayWriteAhead(worker: PoolWorker, job: JobRecord, now: number): boolean {
    const { jobs, recorded } = worker
    if (recorded.pending) return false
    // The worker has a free slot that the pool-wide limit forbids: it would begin the job at once.
    if (jobs.inFlight < this.#pool.settings.concurrency) return false
    // A job put back once is never written ahead: behind jobs that crash their workers it would reach maxPutBacks through no fault of its own.
    if (job.putBacks > 0) return false
    if (jobs.sentBytes + jobs.pipeBytes(job) > MAX_AHEAD_BYTES || now - worker.progress.lastAt > LONG_MS || this.#quota(worker) <= 0) return false
    return jobs.sent.size < this.#pool.taskMeters.ahead(job.task) && !jobs.running.some(this.#isLong)
  }

  readonly #isLong = ({ task }: JobRecord): boolean => this.#pool.taskMeters.ahead(task) === 0

  /** True: there is more to do in another tick. */
  #dispatch(ready: PoolWorker[], now: number): boolean {
    const passedOver: JobRecord[] = []
    const more = this.#dispatchInOrder(ready, passedOver, now)
    for (const job of passedOver) {
      // The job may have been cancelled since.
      if (!job.waiting) continue
      job.inJobQueue = true
      this.#pool.jobQueue.putBack(job)
    }
    return more
  }

  #dispatchInOrder(ready: readonly PoolWorker[], passedOver: JobRecord[], started: number): boolean {
    const { jobQueue, hub } = this.#pool
    const inFlight = ready.map(inFlightIn)
    this.saturated = false
    let now = started
    let dispatched = 0
    for (let job = jobQueue.peek(); job !== undefined; job = jobQueue.peek()) {
      const chosen = this.#choose(ready, inFlight, job, now)
      if (chosen < 0) {
        this.saturated = true
        return false
      }
      jobQueue.take()
      job.inJobQueue = false
      const worker = ready[chosen]!
      if (worker.tasks.has(job.task)) {
        this.#assign(worker, job, now)
        inFlight[chosen]!++
      } else if (this.#dispatchElsewhere(worker, ready, inFlight, job, now)) {
        passedOver.push(job)
        this.saturated = true
        if (passedOver.length === MAX_PASSED_OVER) return false
      }
      if (++dispatched % CLOCK_EVERY === 0 || job.spec.size > LARGE) {
        now = hub.now()
        if (now - started > TICK_MS) return true
      }
    }
    return false
  }

  /** `unable` does not know the task. Dispatches the job to a worker that does, if there is any. True: the job must wait for such a worker. */
  #dispatchElsewhere(unable: PoolWorker, ready: readonly PoolWorker[], inFlight: number[], job: JobRecord, now: number): boolean {
    const knows = (worker: PoolWorker): boolean => worker.tasks.has(job.task)
    const knowing = ready.filter(knows)
    const chosen = this.#choose(knowing, knowing.map(inFlightIn), job, now)
    if (chosen >= 0) {
      const worker = knowing[chosen]!
      this.#assign(worker, job, now)
      inFlight[ready.indexOf(worker)]!++
      return false
    }
    for (const each of this.#pool.workers.values()) {
      if (each.isStarting || (each.isUp && !each.spare && !each.unusable && this.#quota(each) > 0 && knows(each))) return true
    }
    this.#failUnknown(unable, job)
    return false
  }

  /**
   * The index of the worker with room that has the fewest jobs, then the one that is idle the longest. If none has room, a worker to which the job may be
   * written ahead. -1: none. `inFlight`: the jobs of each worker, counted once in a tick, because the loop over many workers runs for each job.
   */
  #choose(ready: readonly PoolWorker[], inFlight: readonly number[], job: JobRecord, now: number): number {
    const free = this.#chooseFree(ready, inFlight)
    if (free >= 0 || !this.#adaptive) return free
    let best = -1
    let bestJobs = Number.POSITIVE_INFINITY
    for (let i = 0; i < ready.length; i++) {
      const jobs = inFlight[i]!
      if (jobs >= bestJobs || !this.#mayWriteAhead(ready[i]!, job, now)) continue
      best = i
      bestJobs = jobs
    }
    return best
  }

  #chooseFree(ready: readonly PoolWorker[], inFlight: readonly number[]): number {
    // Without a window, a worker takes a job only where a slot is free.
    if (this.#freeSlots <= 0 && this.#window === this.#pool.settings.concurrency) return -1
    let best = -1
    let bestJobs = Number.POSITIVE_INFINITY
    for (let i = 0; i < ready.length; i++) {
      const jobs = inFlight[i]!
      if (jobs > bestJobs || (jobs === bestJobs && ready[i]!.progress.lastAt >= ready[best]!.progress.lastAt)) continue
      if (this.#capacity(ready[i]!) <= 0) continue
      best = i
      bestJobs = jobs
    }
    return best
  }

  #assign(worker: PoolWorker, job: JobRecord, now: number): void {
    if (worker.jobs.sent.size === 0) worker.progress.written(now)
    this.#write(worker, job)
  }

  #write(worker: PoolWorker, job: JobRecord): void {
    if (worker.jobs.inFlight < this.#pool.settings.concurrency) {
      if (worker.spare) this.#freeSpareSlots--
      else this.#freeSlots--
    }
    if (job.deadline !== undefined) job.limits = this.#limitsOf(job, job.deadline)
    worker.assign(job)
  }

  #limitsOf({ spec }: JobRecord, deadline: number): Limits {
    const { hub, settings } = this.#pool
    return limitsWithin(spec, deadline - hub.now(), { grace: settings.cancelGrace, softToKill: SOFT_TO_KILL * settings.cancelGrace })
  }

  #armRecall(): void {
    if (this.#recallArmed || !this.#mayRecall) return
    for (const worker of this.#pool.workers.values()) {
      if (!this.#mayHold(worker)) continue
      this.#recallArmed = true
      this.#pool.hub.callLater(LONG_MS, () => this.#recallHeld())
      return
    }
  }

  /** A written job waits if another job runs or the main thread is blocked. Otherwise it begins at once. */
  #mayHold(worker: PoolWorker): boolean {
    const { jobs, heartbeats } = worker
    return worker.alive && jobs.sent.size > 0 && (jobs.inFlight > 1 || heartbeats.mainAge >= MAIN_STUCK_MS)
  }

  /** Recalls the jobs of each worker that has held them for longer than `LONG_MS` without accepting any. */
  #recallHeld(): void {
    const { hub, workers } = this.#pool
    const held = [...workers.values()].filter((worker) => this.#holdsTooLong(worker))
    if (held.length === 0) {
      this.#recallArmed = false
      this.#armRecall()
      return
    }
    const recall = (): void => {
      this.#recallArmed = false
      for (const worker of held) {
        if (!this.#holdsTooLong(worker)) continue
        worker.recall()
        // A tick is needed at the time when the worker may get jobs again.
        hub.callLater(worker.progress.backOff(hub.now()), () => hub.wake())
      }
      this.#armRecall()
    }
    hub.whenReadEmpty(() => held.flatMap((worker) => worker.readers), recall)
  }

  #anotherIsFree(than: PoolWorker): boolean {
    const now = this.#pool.hub.now()
    for (const worker of this.#pool.workers.values()) {
      if (worker !== than && this.#isAvailable(worker, now) && this.#capacity(worker) > 0) return true
    }
    return false
  }

  #holdsTooLong(worker: PoolWorker): boolean {
    const { jobs } = worker
    worker.recorded.acceptIfRecorded()
    if (!worker.alive || worker.recalls > 0 || jobs.sent.size === 0 || jobs.sent.peek()?.broadcast !== undefined) return false
    // A worker that runs nothing and whose main thread turns is about to read the job. While bytes are being written, the job has not arrived.
    if ((jobs.running.size === 0 && worker.heartbeats.mainAge < MAIN_STUCK_MS) || worker.writing) return false
    const held = this.#pool.hub.now() - worker.progress.heldSince
    // The wait doubles after each recall, so that a slow event loop can accept a job. It does not apply when another worker is free.
    return held >= LONG_MS && (held >= worker.progress.pause || this.#anotherIsFree(worker))
  }
}
