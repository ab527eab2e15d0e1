import type { WorkerSample } from '../../../src/node/scaling/worker-cpu.js'
import type { Clock } from './clock.js'
import type { Cpus } from './cpus.js'
import type { Job } from './job.js'

/** CPU time of a heartbeat, ms. */
const HEARTBEAT_CPU = 0.2
/** A main thread that turns within this time counts as turning, ms. */
const TURN_WAIT = 20
const FIRST_PAUSE = 10
const MAX_PAUSE = 1_000

export interface WorkerEvents {
  began(job: Job): void
  ended(job: Job): void
}

/** A worker that is up: one thread, which accepts the jobs that were written to it whenever it turns. */
export class SimWorker {
  readonly id: number
  /** Written, not accepted. */
  readonly written: Job[] = []
  readonly running = new Set<Job>()
  /** When it last accepted or answered a job. */
  progressAt: number
  /** It gets no job before this time. */
  pausedUntil = 0
  isDraining = false
  readonly #clock: Clock
  readonly #cpus: Cpus
  readonly #events: WorkerEvents
  #pause = 0
  /** The job that holds the thread. */
  #holder: Job | undefined
  #heldSince = 0
  #computesSince: number | undefined
  #cpu = 0
  /** As the last heartbeat told. */
  #told = { cpu: 0, stalled: 0 }
  /** Ended while the thread was held: their results come when it turns. */
  readonly #unanswered: Job[] = []

  constructor(id: number, clock: Clock, cpus: Cpus, events: WorkerEvents) {
    this.id = id
    this.#clock = clock
    this.#cpus = cpus
    this.#events = events
    this.progressAt = clock.now
  }

  get inFlight(): number {
    return this.written.length + this.running.size
  }

  get sample(): WorkerSample & { readonly writtenAhead: number; readonly job: { readonly age: number } | undefined } {
    const { id, running, written } = this
    const [oldest] = running
    return {
      id,
      state: this.inFlight > 0 ? 'busy' : 'up',
      running: running.size,
      writtenAhead: written.length,
      cpu: this.#told.cpu,
      stalled: this.#told.stalled,
      job: oldest === undefined ? undefined : { age: this.#clock.now - oldest.beganAt! },
    }
  }

  beat(): void {
    this.#cpu += HEARTBEAT_CPU
    const computed = this.#computesSince === undefined ? 0 : this.#cpus.service - this.#computesSince
    const held = this.#holder === undefined ? 0 : this.#clock.now - this.#heldSince
    this.#told = { cpu: this.#cpu + computed, stalled: held < TURN_WAIT ? 0 : held }
  }

  write(job: Job): void {
    this.written.push(job)
    this.#turn()
  }

  /** Takes back what was not accepted. */
  recall(): Job[] {
    return this.written.splice(0)
  }

  /** It did not accept what was written to it. Returns how long it gets nothing, ms. */
  backOff(): number {
    this.#pause = Math.min(MAX_PAUSE, Math.max(FIRST_PAUSE, 2 * this.#pause))
    this.pausedUntil = this.#clock.now + this.#pause
    return this.#pause
  }

  #progress(): void {
    this.progressAt = this.#clock.now
    this.pausedUntil = 0
    this.#pause = 0
  }

  #turn(): void {
    while (this.#holder === undefined) {
      const job = this.written.shift()
      if (job === undefined) return
      this.running.add(job)
      this.#progress()
      this.#events.began(job)
      this.#begin(job)
    }
  }

  #begin(job: Job): void {
    if (job.kind === 'await') {
      this.#clock.after(job.ms, () => (this.#holder === undefined ? this.#end(job) : this.#unanswered.push(job)))
      return
    }
    this.#holder = job
    this.#heldSince = this.#clock.now
    if (job.kind === 'block') {
      this.#clock.after(job.ms, () => this.#release(job))
      return
    }
    this.#computesSince = this.#cpus.service
    this.#cpus.compute(job.ms, true, () => {
      this.#cpu += job.ms
      this.#computesSince = undefined
      this.#release(job)
    })
  }

  #release(job: Job): void {
    this.#holder = undefined
    for (const each of this.#unanswered.splice(0)) this.#end(each)
    this.#end(job)
    this.#turn()
  }

  #end(job: Job): void {
    this.running.delete(job)
    this.#progress()
    this.#events.ended(job)
  }
}
