import type { JobRecord } from '../jobs/job.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'
import { LONG_MS } from './task-meters.js'

/** Work of one tick is bounded: the host's other business comes first, ms. */
const TICK_MS = 2
/** Jobs that wait for a worker whose code is newer are passed over, so many in one tick: others need not wait for it. */
const MAX_ASIDE = 64
/** How many jobs are dealt between two looks at the clock. */
const CLOCK_EVERY = 64
/** Jobs written ahead in one worker's pipe under 'fast'. */
const FAST_AHEAD = 256
/** Bytes written ahead in one worker's pipe at the most: they fit the kernel's buffer, so that what is held is never half written. */
const MAX_AHEAD_BYTES = 200 * 1024
/** A main thread that has not turned for so long is stuck, even if it runs no job, ms. */
const MAIN_STUCK_MS = 1_000
/** First and longest time that a worker whose main thread does not turn gets no new job, ms. */
const STUCK_FIRST = 10
const STUCK_MAX = 1_000

/** Deals the jobs of the outbox to the workers, once a tick, and takes back what waits too long. */
export class Dispatcher {
  readonly #pool: PoolState
  /** Jobs per worker that may be in its pipe and running, where the dispatch has a fixed window; 0: adaptive. */
  readonly #window: number
  readonly #adaptive: boolean
  readonly #mayRecall: boolean
  #recallArmed = false
  /** Slots that may still be taken up in this tick. */
  #slack = 0
  /** The same of the stand-bys. */
  #spareSlack = 0
  /** No worker could take the job at the head of the outbox in the last tick. */
  saturated = false

  constructor(pool: PoolState) {
    this.#pool = pool
    const { dispatch, concurrency, watchdog } = pool.settings
    // Without a watchdog nothing is taken back from a busy worker, so nothing is written ahead of one.
    this.#adaptive = dispatch === 'adaptive' && watchdog
    this.#mayRecall = dispatch === 'adaptive' || dispatch === 'fair'
    if (typeof dispatch === 'number') this.#window = Math.max(dispatch, concurrency)
    else this.#window = dispatch === 'fast' ? concurrency + FAST_AHEAD : concurrency
  }

  /** One tick. */
  readonly tick = (): void => {
    const pool = this.#pool
    this.#countSlack()
    const ready: PoolWorker[] = []
    for (const worker of pool.workers.values()) {
      if (worker.isUp || worker.state === 'draining') this.#own(worker)
      if (this.#takesAny(worker)) ready.push(worker)
    }
    const more = this.#deal(ready)
    for (const worker of pool.workers.values()) {
      if (worker.alive) worker.flush()
    }
    if (more) pool.hub.wake()
    this.#armRecall()
  }

  /** A worker's own jobs: those it must run alone, and those meant for it. */
  #own(worker: PoolWorker): void {
    if (worker.recalls > 0 || worker.unusable) return
    if (worker.isolatedRetry !== undefined && (worker.isolatedRetry.isSettled || worker.isolatedRetry.streamed || worker.isolatedRetry.state === 'queued'))
      worker.isolatedRetry = undefined
    const { jobs: books, isolatedRetries: suspects, pinned } = worker
    while (worker.isolatedRetry === undefined && books.inFlight === 0 && suspects.length > 0 && this.#mayTake(worker)) {
      const job = suspects.shift()!
      if (job.isSettled) continue
      if (!worker.tasks.has(job.task)) {
        this.onUnknownTask(worker, job)
        continue
      }
      worker.isolatedRetry = job
      this.#write(worker, job)
    }
    while (pinned.length > 0 && worker.isolatedRetry === undefined && suspects.length === 0 && this.#mayTake(worker)) {
      const job = pinned.shift()!
      if (job.isSettled) continue
      if (worker.tasks.has(job.task)) this.#assign(worker, job)
      else this.onUnknownTask(worker, job)
    }
  }

  #mayTake(worker: PoolWorker): boolean {
    return this.#freeSlots(worker) > 0 && this.#quota(worker) > 0
  }

  #takesAny(worker: PoolWorker): boolean {
    return (
      worker.isUp &&
      !worker.unusable &&
      !worker.spare &&
      worker.recalls === 0 &&
      worker.isolatedRetry === undefined &&
      worker.isolatedRetries.length === 0 &&
      worker.pinned.length === 0 &&
      !worker.blocked &&
      worker.stuckUntil <= this.#pool.hub.now() &&
      this.#quota(worker) > 0
    )
  }

  /** Jobs that it may still be given before it is recycled. */
  #quota(worker: PoolWorker): number {
    return worker.quota(this.#pool.settings.maxJobsPerWorker)
  }

  /** Slots that nobody has taken up, whoever he is: a worker that leaves hands its own over to its successor one by one. */
  #countSlack(): void {
    const { workers, settings, slotTarget: figure } = this.#pool
    let used = 0
    let usedBySpares = 0
    for (const worker of workers.values()) {
      if (!worker.alive) continue
      const slots = worker.slotsUsed(settings.concurrency)
      if (worker.spare) usedBySpares += slots
      else used += slots
    }
    this.#slack = figure * settings.concurrency - used
    // One that was promoted as it ran a share takes its slot along, while its predecessor may still run something.
    this.#spareSlack = settings.spare * settings.concurrency - usedBySpares + Math.min(0, this.#slack)
  }

  #freeSlots(worker: PoolWorker): number {
    const free = this.#pool.settings.concurrency - worker.jobs.inFlight
    // Stand-bys have their own: a broadcast reaches them, too.
    return Math.min(free, worker.spare ? this.#spareSlack : this.#slack)
  }

  /** How many more jobs may be written to it now, whatever they are. */
  #room(worker: PoolWorker): number {
    const { concurrency } = this.#pool.settings
    const { inFlight, sentBytes } = worker.jobs
    if (inFlight < concurrency || this.#window === concurrency) return Math.min(this.#freeSlots(worker), this.#quota(worker))
    if (sentBytes > MAX_AHEAD_BYTES) return 0
    return Math.min(this.#window - inFlight, this.#quota(worker))
  }

  /** Whether this job may be written ahead of others that are short, behind jobs that have not held it long. */
  #mayWriteAhead(worker: PoolWorker, job: JobRecord, now: number): boolean {
    const { jobs: books } = worker
    // A worker with a free slot that it may not take up would begin what is meant to wait.
    if (books.inFlight < this.#pool.settings.concurrency) return false
    // Back from a worker that died, it waits behind nobody: others' crashes must not make it one that is given up.
    if (job.putBacks > 0) return false
    if (books.sentBytes + job.spec.size > MAX_AHEAD_BYTES || now - worker.lastProgressAt > LONG_MS || this.#quota(worker) <= 0) return false
    return books.sent.size < this.#pool.meters.ahead(job.task) && !books.running.some(this.#isLong)
  }

  readonly #isLong = ({ task }: JobRecord): boolean => this.#pool.meters.ahead(task) === 0

  /** True: there is more to do in another tick. */
  #deal(ready: PoolWorker[]): boolean {
    const aside: JobRecord[] = []
    const more = this.#dealFrom(ready, aside)
    for (const job of aside) {
      // It may have been cancelled meanwhile.
      if (!job.waiting) continue
      job.inOutbox = true
      this.#pool.outbox.putBack(job)
    }
    return more
  }

  #dealFrom(ready: PoolWorker[], aside: JobRecord[]): boolean {
    const { outbox, hub } = this.#pool
    this.saturated = false
    const started = hub.now()
    let now = started
    let dealt = 0
    for (let job = outbox.peek(); job !== undefined; job = outbox.peek()) {
      const worker = this.#choose(ready, job, now)
      if (worker === undefined) {
        this.saturated = true
        return false
      }
      outbox.take()
      job.inOutbox = false
      if (worker.tasks.has(job.task)) this.#assign(worker, job)
      else if (this.#dealElsewhere(worker, ready, job, now)) {
        aside.push(job)
        this.saturated = true
        if (aside.length === MAX_ASIDE) return false
      }
      if (++dealt % CLOCK_EVERY === 0) {
        now = hub.now()
        if (now - started > TICK_MS) return true
      }
    }
    return false
  }

  /** This worker does not know the task: to one that does, if there is any. True: the job is to wait for it. */
  #dealElsewhere(than: PoolWorker, ready: readonly PoolWorker[], job: JobRecord, now: number): boolean {
    const knows = (worker: PoolWorker): boolean => worker.tasks.has(job.task)
    const worker = this.#choose(ready.filter(knows), job, now)
    if (worker !== undefined) {
      this.#assign(worker, job)
      return false
    }
    for (const each of this.#pool.workers.values()) {
      if (each.state === 'starting' || (each.isUp && !each.spare && !each.unusable && this.#quota(each) > 0 && knows(each))) return true
    }
    this.onUnknownTask(than, job)
    return false
  }

  /** Among those with room: fewest jobs, then longest idle; only if none has room, one that the job may be written ahead to. */
  #choose(ready: readonly PoolWorker[], job: JobRecord, now: number): PoolWorker | undefined {
    let best: PoolWorker | undefined
    let bestJobs = Number.POSITIVE_INFINITY
    for (const worker of ready) {
      const jobs = worker.jobs.inFlight
      if (jobs > bestJobs || (jobs === bestJobs && worker.lastProgressAt >= best!.lastProgressAt)) continue
      if (this.#room(worker) <= 0) continue
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
    if (worker.jobs.sent.size === 0) worker.heldSince = this.#pool.hub.now()
    this.#write(worker, job)
  }

  #write(worker: PoolWorker, job: JobRecord): void {
    if (worker.jobs.inFlight < this.#pool.settings.concurrency) {
      if (worker.spare) this.#spareSlack--
      else this.#slack--
    }
    worker.assign(job)
  }

  /** Set by the pool: refuses a job that this worker does not know, for its code is of another version than the one that announced the task. */
  onUnknownTask: (worker: PoolWorker, job: JobRecord) => void = () => {}

  // ---- taking back

  #armRecall(): void {
    if (this.#recallArmed || !this.#mayRecall) return
    for (const worker of this.#pool.workers.values()) {
      if (worker.jobs.sent.size === 0 || !worker.alive) continue
      this.#recallArmed = true
      this.#pool.hub.callLater(LONG_MS, () => this.#takeBack())
      return
    }
  }

  /** Recalls what a worker has held for longer than `LONG_MS` without taking anything up. */
  #takeBack(): void {
    const { hub, workers } = this.#pool
    const suspects = [...workers.values()].filter((worker) => this.#holdsTooLong(worker))
    if (suspects.length === 0) {
      this.#recallArmed = false
      this.#armRecall()
      return
    }
    hub.whenReadEmpty(
      () => suspects.flatMap((worker) => worker.readers),
      () => {
        this.#recallArmed = false
        for (const worker of suspects) {
          if (!this.#holdsTooLong(worker)) continue
          worker.recall()
          worker.stuckFor = Math.min(STUCK_MAX, Math.max(STUCK_FIRST, 2 * worker.stuckFor))
          worker.stuckUntil = hub.now() + worker.stuckFor
          // Someone must look again when the worker may be tried again.
          hub.callLater(worker.stuckFor, () => hub.wake())
        }
        this.#armRecall()
      },
    )
  }

  #anotherIsFree(than: PoolWorker): boolean {
    for (const worker of this.#pool.workers.values()) {
      if (worker !== than && this.#takesAny(worker) && this.#room(worker) > 0) return true
    }
    return false
  }

  #holdsTooLong(worker: PoolWorker): boolean {
    const { jobs: books } = worker
    if (!worker.alive || worker.recalls > 0 || books.sent.size === 0 || books.sent.peek()?.broadcast !== undefined) return false
    // An idle worker holds nothing back: it is still reading a large job, or about to. Nor does one that is still being written to.
    if ((books.running.size === 0 && worker.mainAge < MAIN_STUCK_MS) || worker.writing) return false
    const held = this.#pool.hub.now() - Math.max(worker.lastProgressAt, worker.heldSince)
    // One that turns slowly is given longer each time, or it would never get to take anything up; not if another could do it now.
    return held >= LONG_MS && (held >= worker.stuckFor || this.#anotherIsFree(worker))
  }
}
