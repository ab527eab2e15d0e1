import type { JobRecord } from '../jobs/job.js'
import type { JobLifecycle } from '../jobs/job-lifecycle.js'
import { unknownTask } from '../jobs/submission.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'
import { LONG_MS } from './task-meters.js'

/** The most time that one tick spends on dealing jobs, ms: the host has other work. */
const TICK_MS = 2
/** In one tick this many jobs that wait for a worker with newer task modules are passed over, so that others do not wait behind them. */
const MAX_PASSED_OVER = 64
/** The clock is read after this many jobs. */
const CLOCK_EVERY = 64
/** Jobs written ahead in one worker's pipe under 'fast'. */
const FAST_AHEAD = 256
/** Bytes written ahead in one worker's pipe at the most: they fit the kernel's buffer, so that what is held is never half written. */
const MAX_AHEAD_BYTES = 200 * 1024
/** A main thread that has not turned for this long accepts no job, even if it runs none, ms. */
const MAIN_STUCK_MS = 1_000

/** Deals the jobs of the job queue to the workers in each tick, and recalls what waits in a worker for too long. */
export class Dispatcher {
  readonly #pool: PoolState
  readonly #jobs: JobLifecycle
  /** Jobs that may be in one worker (in its pipe and running). With 'adaptive' and 'fair' it is `concurrency`; `#mayWriteAhead` decides what 'adaptive' writes beyond that. */
  readonly #window: number
  readonly #adaptive: boolean
  readonly #mayRecall: boolean
  #recallArmed = false
  /** Slots that may still be taken up in this tick. */
  #freeSlots = 0
  /** The same for spare workers, which have slots of their own. */
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
    this.#countFreeSlots()
    const ready: PoolWorker[] = []
    for (const worker of pool.workers.values()) {
      if (worker.isUp || worker.isDraining) this.#writeReserved(worker)
      if (this.#isAvailable(worker)) ready.push(worker)
    }
    const more = this.#deal(ready)
    for (const worker of pool.workers.values()) {
      if (worker.alive) worker.flush()
    }
    if (more) pool.hub.wake()
    this.#armRecall()
  }

  /** The jobs that wait for this worker alone: isolated retries first, then shares of broadcasts. */
  #writeReserved(worker: PoolWorker): void {
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
      this.#write(worker, job)
    }
    while (reserved.hasShares && !reserved.isolated && this.#mayTake(worker)) {
      const job = reserved.nextShare()!
      if (job.isSettled) continue
      if (worker.tasks.has(job.task)) this.#assign(worker, job)
      else this.#failUnknown(worker, job)
    }
  }

  /** The worker does not know the task: its task modules are of another version than those of the worker that announced it. */
  #failUnknown(worker: PoolWorker, job: JobRecord): void {
    this.#jobs.fail(job, unknownTask(job.name, [...worker.tasks.keys()]))
  }

  #mayTake(worker: PoolWorker): boolean {
    return this.#slotsFor(worker) > 0 && this.#quota(worker) > 0
  }

  #isAvailable(worker: PoolWorker): boolean {
    return (
      worker.isUp &&
      !worker.unusable &&
      !worker.spare &&
      worker.recalls === 0 &&
      worker.reserved.idle &&
      !worker.blocked &&
      worker.progress.pausedUntil <= this.#pool.hub.now() &&
      this.#quota(worker) > 0
    )
  }

  /** Jobs that it may still be given before it is recycled. */
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

  /** How many more jobs may be written to it now, whatever they are. */
  #capacity(worker: PoolWorker): number {
    const { concurrency } = this.#pool.settings
    const { inFlight, sentBytes } = worker.jobs
    if (inFlight < concurrency || this.#window === concurrency) return Math.min(this.#slotsFor(worker), this.#quota(worker))
    if (sentBytes > MAX_AHEAD_BYTES) return 0
    return Math.min(this.#window - inFlight, this.#quota(worker))
  }

  /** Whether this short job may be written to a worker without a free slot, whose jobs are short as well. */
  #mayWriteAhead(worker: PoolWorker, job: JobRecord, now: number): boolean {
    const { jobs } = worker
    // It has a free slot that the pool-wide limit does not let it use: it would begin the job at once.
    if (jobs.inFlight < this.#pool.settings.concurrency) return false
    // A job put back once is never written ahead: behind jobs that crash their workers it would reach maxPutBacks through no fault of its own.
    if (job.putBacks > 0) return false
    if (jobs.sentBytes + job.spec.size > MAX_AHEAD_BYTES || now - worker.progress.lastAt > LONG_MS || this.#quota(worker) <= 0) return false
    return jobs.sent.size < this.#pool.taskMeters.ahead(job.task) && !jobs.running.some(this.#isLong)
  }

  readonly #isLong = ({ task }: JobRecord): boolean => this.#pool.taskMeters.ahead(task) === 0

  /** True: there is more to do in another tick. */
  #deal(ready: PoolWorker[]): boolean {
    const passedOver: JobRecord[] = []
    const more = this.#dealFrom(ready, passedOver)
    for (const job of passedOver) {
      // It may have been cancelled since.
      if (!job.waiting) continue
      job.inJobQueue = true
      this.#pool.jobQueue.putBack(job)
    }
    return more
  }

  #dealFrom(ready: PoolWorker[], passedOver: JobRecord[]): boolean {
    const { jobQueue, hub } = this.#pool
    this.saturated = false
    const started = hub.now()
    let now = started
    let dealt = 0
    for (let job = jobQueue.peek(); job !== undefined; job = jobQueue.peek()) {
      const worker = this.#choose(ready, job, now)
      if (worker === undefined) {
        this.saturated = true
        return false
      }
      jobQueue.take()
      job.inJobQueue = false
      if (worker.tasks.has(job.task)) this.#assign(worker, job)
      else if (this.#dealElsewhere(worker, ready, job, now)) {
        passedOver.push(job)
        this.saturated = true
        if (passedOver.length === MAX_PASSED_OVER) return false
      }
      if (++dealt % CLOCK_EVERY === 0) {
        now = hub.now()
        if (now - started > TICK_MS) return true
      }
    }
    return false
  }

  /** This worker does not know the task: deals the job to one that does, if there is any. True: the job is to wait for such a worker. */
  #dealElsewhere(unable: PoolWorker, ready: readonly PoolWorker[], job: JobRecord, now: number): boolean {
    const knows = (worker: PoolWorker): boolean => worker.tasks.has(job.task)
    const worker = this.#choose(ready.filter(knows), job, now)
    if (worker !== undefined) {
      this.#assign(worker, job)
      return false
    }
    for (const each of this.#pool.workers.values()) {
      if (each.isStarting || (each.isUp && !each.spare && !each.unusable && this.#quota(each) > 0 && knows(each))) return true
    }
    this.#failUnknown(unable, job)
    return false
  }

  /** Of the workers with room the one with the fewest jobs, then the longest idle; only if none has room, one that the job may be written ahead to. */
  #choose(ready: readonly PoolWorker[], job: JobRecord, now: number): PoolWorker | undefined {
    let best: PoolWorker | undefined
    let bestJobs = Number.POSITIVE_INFINITY
    for (const worker of ready) {
      const jobs = worker.jobs.inFlight
      if (jobs > bestJobs || (jobs === bestJobs && worker.progress.lastAt >= best!.progress.lastAt)) continue
      if (this.#capacity(worker) <= 0) continue
      best = worker
      bestJobs = jobs
    }
    if (best !== undefined || !this.#adaptive) return best
    for (const worker of ready) {
      const jobs = worker.jobs.inFlight
      if (jobs >= bestJobs || !this.#mayWriteAhead(worker, job, now)) continue
      best = worker
      bestJobs = jobs
    }
    return best
  }

  #assign(worker: PoolWorker, job: JobRecord): void {
    if (worker.jobs.sent.size === 0) worker.progress.written(this.#pool.hub.now())
    this.#write(worker, job)
  }

  #write(worker: PoolWorker, job: JobRecord): void {
    if (worker.jobs.inFlight < this.#pool.settings.concurrency) {
      if (worker.spare) this.#freeSpareSlots--
      else this.#freeSlots--
    }
    worker.assign(job)
  }

  #armRecall(): void {
    if (this.#recallArmed || !this.#mayRecall) return
    for (const worker of this.#pool.workers.values()) {
      if (worker.jobs.sent.size === 0 || !worker.alive) continue
      this.#recallArmed = true
      this.#pool.hub.callLater(LONG_MS, () => this.#recallHeld())
      return
    }
  }

  /** Recalls what a worker has held for longer than `LONG_MS` without taking anything up. */
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
        // A tick must come when the worker may be tried again.
        hub.callLater(worker.progress.backOff(hub.now()), () => hub.wake())
      }
      this.#armRecall()
    }
    hub.whenReadEmpty(() => held.flatMap((worker) => worker.readers), recall)
  }

  #anotherIsFree(than: PoolWorker): boolean {
    for (const worker of this.#pool.workers.values()) {
      if (worker !== than && this.#isAvailable(worker) && this.#capacity(worker) > 0) return true
    }
    return false
  }

  #holdsTooLong(worker: PoolWorker): boolean {
    const { jobs } = worker
    if (!worker.alive || worker.recalls > 0 || jobs.sent.size === 0 || jobs.sent.peek()?.broadcast !== undefined) return false
    // Not held: a worker that runs nothing and whose main thread turns is about to read the job; while bytes are still being written, it has not arrived.
    if ((jobs.running.size === 0 && worker.heartbeats.mainAge < MAIN_STUCK_MS) || worker.writing) return false
    const held = this.#pool.hub.now() - worker.progress.heldSince
    // The wait doubles after each recall, so that a slow event loop can accept a job. It does not apply when another worker is free.
    return held >= LONG_MS && (held >= worker.progress.pause || this.#anotherIsFree(worker))
  }
}
