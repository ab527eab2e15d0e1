import type { NodeSettings } from '../options.js'

/** Jobs that wait, all of tasks with this mean run time. */
export interface WaitingJobs {
  /** For ready jobs of a queue that several nodes consume: this node's share, which may be a fraction. */
  readonly jobs: number
  /** ms; undefined: a task among them was never measured. */
  readonly runTime: number | undefined
}

/** The load of a node at one look. Times in ms on one monotonic clock. */
export interface Load {
  readonly now: number
  /** Jobs of the node that no worker has accepted, and that nothing but the want of a worker holds back. */
  readonly waiting: readonly WaitingJobs[]
  /** How long the first of them has waited; 0: there is none. */
  readonly waited: number
  /** Jobs that are ready in the node's queues. */
  readonly ready: WaitingJobs
  /** The broker was asked at this look; otherwise `ready` is nothing. */
  readonly asked: boolean
  /** Several nodes consume these queues, or it is not known that none does. */
  readonly shared: boolean
  /** All room for jobs ahead was taken at a moment since the last look: short jobs come no faster than there is room for them. */
  readonly roomTaken: boolean
  /** Jobs that run. */
  readonly running: number
  /** When a job began last. */
  readonly lastBegan: number
  /** Workers that are up. */
  readonly up: number
  /** Workers that start. */
  readonly starting: number
  /** From the start of a process until its worker is up. */
  readonly startTime: number
  /** The last start has failed. */
  readonly startsFail: boolean
  /** The workers leave a CPU free. */
  readonly cpuFree: boolean
}

export interface GrowthRule extends Pick<NodeSettings, 'concurrency' | 'scaleUpAfter' | 'scaleUpBatch'> {
  /** CPUs that the node may use. */
  readonly cpus: number
  /** Gives numbers from 0 to 1. */
  readonly random?: () => number
}

/** For each CPU, so many workers are started whatever they compute. */
const WORKERS_PER_CPU = 2
/** A job that would begin later than after so many starts of a worker wants another worker. */
const STARTS = 2

/**
 * How many workers a node wants because of what waits. The docs' page "Concurrency, prefetch and workers" has the rule in words; `test/simulation/scaling`
 * plays it.
 */
export class Growth {
  readonly #rule: GrowthRule
  /** Since when ready jobs were found at each look, while no slot was free. A depth has no age. */
  #readySince: number | undefined
  /** When a worker last started. */
  #startedAt = Number.NEGATIVE_INFINITY
  /** Several nodes see the same jobs: this one looks again at this time. */
  #lookAgainAt: number | undefined

  constructor(rule: GrowthRule) {
    this.#rule = rule
  }

  /** Workers wanted, at least those that are there. `max`: at most. */
  wanted(load: Load, max: number): number {
    const { waiting, waited, ready, now, up, starting, startsFail } = load
    const { scaleUpAfter } = this.#rule
    const alive = up + starting
    if (starting > 0) this.#startedAt = now
    if (!this.#isFull(load)) this.#readySince = undefined
    else if (load.asked) this.#readySince = ready.jobs > 0 ? (this.#readySince ?? now) : undefined
    const seen = this.#readySince === undefined ? 0 : now - this.#readySince
    if (startsFail || alive >= max || Math.max(waited, seen) < scaleUpAfter) {
      this.#lookAgainAt = undefined
      return alive
    }
    const needed = this.#needed(load, this.#readySince === undefined ? waiting : [...waiting, ready], Math.max(waited, seen))
    if (needed <= alive) {
      // A look that did not ask knows nothing of what is ready.
      if (load.asked) this.#lookAgainAt = undefined
      return alive
    }
    if (waited < scaleUpAfter && load.shared && !this.#hasLookedAgain(now)) return alive
    return Math.max(alive, Math.min(max, needed, up + this.#startsAtOnce))
  }

  /** No slot is free: each runs a job, or holds one that its main thread does not accept. Or each was, and short jobs ahead of it, a moment ago. */
  #isFull({ running, waiting, up, waited, roomTaken }: Load): boolean {
    const held = waiting.reduce((sum, { jobs }) => sum + jobs, 0)
    return roomTaken || running + held >= up * this.#rule.concurrency || waited >= this.#rule.scaleUpAfter
  }

  /** Jobs that a worker can run at once: where jobs wait although slots are free, their main threads are held, and each of them runs what it runs. */
  #perWorker({ running, up }: Load): number {
    const { concurrency } = this.#rule
    return Math.min(concurrency, Math.max(1, running / Math.max(1, up)))
  }

  /** `waited`: how long there have been jobs that wait. */
  #needed(load: Load, waiting: readonly WaitingJobs[], waited: number): number {
    const { running, now, lastBegan, up, starting, startTime, cpuFree } = load
    const alive = up + starting
    const perWorker = this.#perWorker(load)
    const jobs = waiting.reduce((sum, each) => sum + each.jobs, 0)
    if (jobs === 0) return alive
    const longest = STARTS * startTime
    // What the tasks that wait took so far says little by then: other tasks hold the workers, or a run is longer than those before.
    const late = Math.min(Math.max(waited, now - lastBegan), now - this.#startedAt) > longest
    if (!late && this.#lastBeginsAfter(waiting, jobs, up * perWorker) <= longest) return alive
    const work = waiting.reduce((sum, { jobs, runTime = Number.POSITIVE_INFINITY }) => sum + jobs * Math.min(1, runTime / longest), 0)
    const needed = Math.max(Math.ceil((running + work) / perWorker), late ? up + Math.min(this.#rule.scaleUpBatch, Math.ceil(jobs / perWorker)) : 0)
    return cpuFree ? needed : Math.min(needed, WORKERS_PER_CPU * this.#rule.cpus)
  }

  /** ms until the last of the jobs begins on the workers that are up. */
  #lastBeginsAfter(waiting: readonly WaitingJobs[], jobs: number, slots: number): number {
    const time = waiting.reduce((sum, { jobs, runTime = Number.POSITIVE_INFINITY }) => (jobs === 0 ? sum : sum + jobs * runTime), 0)
    return Math.ceil(jobs / Math.max(1, slots)) * (time / jobs)
  }

  /** What one node starts, the others see a moment later: each looks again after a random time. */
  #hasLookedAgain(now: number): boolean {
    const { scaleUpAfter, random = Math.random } = this.#rule
    this.#lookAgainAt ??= now + random() * scaleUpAfter
    if (now < this.#lookAgainAt) return false
    this.#lookAgainAt = undefined
    return true
  }

  get #startsAtOnce(): number {
    return Math.max(this.#rule.scaleUpBatch, this.#rule.cpus)
  }
}
