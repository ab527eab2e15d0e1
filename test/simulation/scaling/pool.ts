import type { PoolLoad } from '../../../src/pool/stats.js'
import type { Clock } from './clock.js'
import type { Cpus } from './cpus.js'
import type { Job } from './job.js'
import { SimWorker } from './worker.js'

/** A job that was written so long ago and not accepted is taken back, ms. */
const RECALL_AFTER = 5
const FIRST_BACK_OFF = 100
const MAX_BACK_OFF = 1_000
/** Weight of the newest start in the mean. */
const ALPHA = 1 / 4

export interface PoolSettings {
  readonly concurrency: number
  readonly minWorkers: number
  /** CPU time of a start, ms. */
  readonly startCpu: number
  /** The rest of a start, ms. */
  readonly startWait: number
  /** Starts that end in this time fail, ms. */
  readonly failing: readonly [from: number, to: number]
}

export interface PoolEvents {
  began(job: Job): void
  ended(job: Job): void
  /** The jobs of a worker have changed. */
  changedJobs(): void
  started(): void
  up(): void
  retired(): void
  /** The number of workers that are up, or whether starts fail, has changed. */
  changed(): void
}

/** The model of the pool: jobs go to the worker with the fewest, and from one that does not accept them to another. */
export class SimPool {
  readonly workers: SimWorker[] = []
  starting = 0
  wanted: number
  /** The longest mean time of a start that was measured so far, ms. */
  longestStartTime: number
  /** Submitted, not written. */
  readonly queue: Job[] = []
  readonly #clock: Clock
  readonly #cpus: Cpus
  readonly #settings: PoolSettings
  readonly #events: PoolEvents
  #nextId = 0
  #running = 0
  #peakRunning = 0
  #startTime: number
  #failures = 0
  #notBefore = 0

  constructor(clock: Clock, cpus: Cpus, settings: PoolSettings, events: PoolEvents) {
    this.#clock = clock
    this.#cpus = cpus
    this.#settings = settings
    this.#events = events
    this.wanted = settings.minWorkers
    this.#startTime = settings.startCpu + settings.startWait
    this.longestStartTime = this.#startTime
    for (let i = 0; i < settings.minWorkers; i++) this.#addWorker()
  }

  get running(): number {
    return this.#running
  }

  get startsFail(): boolean {
    return this.#failures > 0
  }

  get startsAtOnce(): number {
    return Math.max(2, this.#cpus.count)
  }

  load(): PoolLoad {
    const peakRunning = Math.max(this.#running, this.#peakRunning)
    this.#peakRunning = this.#running
    return { running: this.#running, peakRunning, starting: this.starting, startTime: this.#startTime, startsFail: this.startsFail }
  }

  /** Not accepted. */
  get waiting(): Job[] {
    return [...this.queue, ...this.workers.flatMap(({ written }) => written)]
  }

  submit(job: Job): void {
    job.submittedAt = this.#clock.now
    this.queue.push(job)
    this.dispatch()
  }

  /** Takes back jobs that were not accepted. */
  withdraw(isWanted: (job: Job) => boolean): Job[] {
    const taken = this.waiting.filter(isWanted)
    for (const list of [this.queue, ...this.workers.map(({ written }) => written)]) list.splice(0, list.length, ...list.filter((job) => !isWanted(job)))
    return taken
  }

  resize(workers: number): void {
    this.wanted = workers
    const surplus = this.workers.filter(({ isDraining }) => !isDraining).length + this.starting - workers
    const byIdleTime = this.workers.filter(({ isDraining }) => !isDraining).toSorted((a, b) => a.inFlight - b.inFlight || a.progressAt - b.progressAt)
    for (const worker of byIdleTime.slice(0, Math.max(0, surplus))) {
      worker.isDraining = true
      this.#events.retired()
      this.#quitIfDrained(worker)
    }
    this.#start()
  }

  #quitIfDrained(worker: SimWorker): void {
    if (!worker.isDraining || worker.inFlight > 0) return
    this.workers.splice(this.workers.indexOf(worker), 1)
    this.#events.changed()
  }

  #start(): void {
    const { startCpu, startWait } = this.#settings
    if (this.#clock.now < this.#notBefore) return
    while (this.workers.filter(({ isDraining }) => !isDraining).length + this.starting < this.wanted && this.starting < this.startsAtOnce) {
      this.starting++
      this.#events.started()
      const began = this.#clock.now
      this.#cpus.compute(startCpu, false, () => this.#clock.after(startWait, () => this.#started(began)))
    }
  }

  #started(began: number): void {
    const { failing } = this.#settings
    const { now } = this.#clock
    this.starting--
    if (now >= failing[0] && now < failing[1]) {
      const pause = Math.min(MAX_BACK_OFF, FIRST_BACK_OFF * 2 ** this.#failures++)
      this.#notBefore = now + pause
      this.#clock.after(pause, () => this.#start())
      this.#events.changed()
      return
    }
    this.#failures = 0
    this.#notBefore = 0
    this.#startTime += ALPHA * (now - began - this.#startTime)
    this.longestStartTime = Math.max(this.longestStartTime, this.#startTime)
    this.#addWorker()
    this.#events.up()
    this.#start()
    this.dispatch()
  }

  #addWorker(): void {
    const worker: SimWorker = new SimWorker(this.#nextId++, this.#clock, this.#cpus, {
      began: (job) => {
        this.#peakRunning = Math.max(this.#peakRunning, ++this.#running)
        this.#events.began(job)
      },
      ended: (job) => {
        this.#running--
        this.#events.ended(job)
        this.#quitIfDrained(worker)
        this.dispatch()
        this.#events.changedJobs()
      },
    })
    worker.beat()
    this.workers.push(worker)
    this.#events.changed()
  }

  dispatch(): void {
    while (this.queue.length > 0) {
      const worker = this.#choose()
      if (worker === undefined) return
      worker.write(this.queue.shift()!)
      this.#events.changedJobs()
      if (worker.written.length > 0) this.#recallLater(worker)
    }
  }

  #choose(): SimWorker | undefined {
    const { now } = this.#clock
    let best: SimWorker | undefined
    for (const worker of this.workers) {
      if (worker.isDraining || worker.pausedUntil > now || worker.inFlight >= this.#settings.concurrency) continue
      if (best === undefined || worker.inFlight < best.inFlight || (worker.inFlight === best.inFlight && worker.progressAt < best.progressAt)) best = worker
    }
    return best
  }

  #recallLater(worker: SimWorker): void {
    const progressAt = worker.progressAt
    this.#clock.after(RECALL_AFTER, () => {
      if (worker.written.length === 0) return
      if (worker.progressAt !== progressAt) return this.#recallLater(worker)
      this.queue.unshift(...worker.recall())
      this.queue.sort((a, b) => a.submittedAt - b.submittedAt || a.number - b.number)
      this.#clock.after(worker.backOff(), () => this.dispatch())
      this.#quitIfDrained(worker)
      this.dispatch()
      this.#events.changedJobs()
    })
  }
}
