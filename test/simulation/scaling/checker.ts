import { waitBound } from './bound.js'
import type { Clock } from './clock.js'
import type { FarmConfig, Outcome } from './farm.js'
import type { Job } from './job.js'
import type { SimNode } from './node.js'
import type { PoolEvents } from './pool.js'
import { Restarts } from './restarts.js'

/** For looks and requests, ms. */
const SURPLUS_SLACK = 3_000

/** What is known of a node. */
interface Watched {
  readonly node: SimNode
  readonly restarts: Restarts
  /** Since when a CPU has been free while fewer workers than the most were up, and starts did not fail. */
  freeSince: number | undefined
  /** Since when a worker has had no job. */
  idleSince: number | undefined
  mostWorkers: number
}

/** Watches a run, and says what was wrong. */
export class Checker {
  ended = 0
  readonly #clock: Clock
  readonly #config: FarmConfig
  #watched: Watched[] = []
  readonly #faults: string[] = []
  /** By queue: published, not begun. */
  readonly #waiting: Set<Job>[]
  /** For `scaleUpAfter`, and not begun. */
  readonly #longWaiting = new Set<Job>()
  #unended = 0
  readonly #even: boolean
  #starts = 0
  #retired = 0
  #workers = 0
  #peakWorkers = 0
  #workerTime = 0
  #workersSince = 0
  #longestIdleWait = 0
  #nearest = 0

  constructor(clock: Clock, config: FarmConfig) {
    this.#clock = clock
    this.#config = config
    const lengths = config.jobs.map(({ ms }) => ms)
    this.#even = Math.max(...lengths) <= 2 * Math.min(...lengths)
    this.#waiting = Array.from({ length: config.queues }, () => new Set())
  }

  eventsOf(index: number): PoolEvents {
    return {
      began: (job) => this.#began(job, index),
      changedJobs: () => this.#idleChanged(index),
      ended: (job) => {
        this.#watched[index]!.restarts.demands(-this.#weightOf(job), this.#clock.now)
        this.#watched[index]!.restarts.needs(-this.#weightOf(job), this.#clock.now)
        this.#watched[index]!.restarts.has(-1, this.#clock.now)
        job.endedAt = this.#clock.now
        this.ended++
        this.#unended--
      },
      started: () => this.#started(index),
      up: () => {},
      retired: () => {
        this.#retired++
        this.#watched[index]!.restarts.retired(this.#clock.now)
      },
      changed: () => this.#changed(index),
    }
  }

  watch(nodes: readonly SimNode[]): void {
    this.#watched = nodes.map((node) => ({ node, restarts: new Restarts(node.config.keepAlive), freeSince: undefined, idleSince: undefined, mostWorkers: 0 }))
    for (const index of this.#watched.keys()) {
      this.#changed(index)
      this.#clock.every(1_000, () => this.#checkSurplus(index))
    }
    for (const { node } of this.#watched)
      node.cpus.onChange = () =>
        this.#watched.forEach((each, index) => {
          if (each.node.cpus === node.cpus) this.#freeChanged(index)
        })
  }

  /** A worker above `minWorkers` was needed within `keepAlive`, and the time that its start and the retirements before its own took. */
  #checkSurplus(index: number): void {
    const watched = this.#watched[index]!
    const { node, restarts } = watched
    const { pool, settings } = node
    const alive = pool.workers.length + pool.starting
    watched.mostWorkers = Math.max(watched.mostWorkers, alive)
    if (alive <= settings.minWorkers) return
    const kept = settings.keepAlive + watched.mostWorkers * (settings.scaleCheckInterval + settings.scaleUpAfter) + 2 * pool.longestStartTime + SURPLUS_SLACK
    const jobs = restarts.mostJobsSince(this.#clock.now - kept)
    if (alive > Math.max(settings.minWorkers, jobs))
      this.#fault(index, `keeps ${alive} workers; in ${Math.round(kept)} ms there were at most ${jobs} jobs at once`)
  }

  published(job: Job): void {
    this.#waiting[job.queue]!.add(job)
    job.ahead = this.#unended++
    const weight = this.#weightOf(job)
    const all = this.#restartsOf(job.queue)
    for (const restarts of all) {
      restarts.demands(weight, this.#clock.now)
      restarts.has(1, this.#clock.now)
    }
    this.#clock.after(this.#config.nodes[0]!.scaleUpAfter, () => {
      // Where several nodes consume the queue, one of them may hold the job: the others need nothing for it.
      if (job.beganAt !== undefined || all.length > 1) return
      this.#longWaiting.add(job)
      for (const restarts of all) restarts.needs(weight, this.#clock.now)
    })
  }

  #began(job: Job, index: number): void {
    const { now } = this.#clock
    job.beganAt = now
    this.#waiting[job.queue]!.delete(job)
    for (const watched of this.#watched) {
      if (!watched.node.config.queues.includes(job.queue)) continue
      this.#checkWait(watched, job)
      this.#noteIdleWait(watched, job)
    }
    // First, so that the demand does not fall meanwhile.
    this.#watched[index]!.restarts.demands(this.#weightOf(job), now)
    this.#watched[index]!.restarts.needs(this.#weightOf(job), now)
    this.#watched[index]!.restarts.has(1, now)
    const weight = this.#weightOf(job)
    const waitedLong = this.#longWaiting.delete(job)
    for (const restarts of this.#restartsOf(job.queue)) {
      restarts.demands(-weight, now)
      restarts.has(-1, now)
      if (waitedLong) restarts.needs(-weight, now)
    }
  }

  #changed(index: number): void {
    const watched = this.#watched[index]
    if (watched === undefined) return
    const { pool, settings } = watched.node
    const { now } = this.#clock
    const workers = this.#watched.reduce((sum, { node }) => sum + node.pool.workers.length + node.pool.starting, 0)
    this.#workerTime += this.#workers * (now - this.#workersSince)
    this.#workersSince = now
    this.#workers = workers
    this.#peakWorkers = Math.max(this.#peakWorkers, workers)
    if (pool.workers.length + pool.starting > settings.maxWorkers)
      this.#fault(index, `has ${pool.workers.length} workers and ${pool.starting} that start, and may have ${settings.maxWorkers}`)
    this.#freeChanged(index)
    this.#idleChanged(index)
  }

  #started(index: number): void {
    const { node, restarts } = this.#watched[index]!
    this.#starts++
    this.#changed(index)
    const most = Math.max(node.settings.scaleUpBatch, node.cpus.count, 2)
    if (node.pool.starting > most) this.#fault(index, `starts ${node.pool.starting} workers at once; at most ${most}`)
    const fault = restarts.started(this.#clock.now)
    // What waited while starts failed was not needed from what there is.
    const { failing, keepAlive } = node.config
    if (fault !== undefined && !(failing[1] > 0 && this.#clock.now < failing[1] + 2 * keepAlive)) this.#fault(index, fault)
  }

  /** How much of a worker a job is worth. */
  #weightOf({ kind, ms }: Job): number {
    const { concurrency, startCpu, startWait } = this.#config.nodes[0]!
    return Math.min(1, ms / (2 * (startCpu + startWait))) / (kind === 'await' ? concurrency : 1)
  }

  #restartsOf(queue: number): Restarts[] {
    return this.#watched.filter(({ node }) => node.config.queues.includes(queue)).map(({ restarts }) => restarts)
  }

  #freeChanged(index: number): void {
    const watched = this.#watched[index]
    if (watched === undefined) return
    const { node } = watched
    const isFree = node.pool.workers.length < node.settings.maxWorkers && node.cpus.isOneFree && !node.pool.startsFail
    if (isFree === (watched.freeSince !== undefined)) return
    if (!isFree) for (const queue of node.config.queues) for (const job of this.#waiting[queue]!) if (!this.#checkWait(watched, job)) break
    watched.freeSince = isFree ? this.#clock.now : undefined
  }

  #idleChanged(index: number): void {
    const watched = this.#watched[index]
    if (watched === undefined) return
    const { workers } = watched.node.pool
    const isIdle = workers.some(({ inFlight, isDraining }) => inFlight === 0 && !isDraining)
    if (isIdle === (watched.idleSince !== undefined)) return
    if (!isIdle) for (const queue of watched.node.config.queues) for (const job of this.#waiting[queue]!) this.#noteIdleWait(watched, job)
    watched.idleSince = isIdle ? this.#clock.now : undefined
  }

  #noteIdleWait({ idleSince }: Watched, job: Job): void {
    if (idleSince !== undefined) this.#longestIdleWait = Math.max(this.#longestIdleWait, this.#clock.now - Math.max(idleSince, job.at))
  }

  /** False: it has hardly waited, and nor have those after it. */
  #checkWait({ node, freeSince }: Watched, job: Job): boolean {
    if (freeSince === undefined) return true
    const wait = this.#clock.now - Math.max(freeSince, job.at)
    if (wait <= node.config.scaleUpAfter) return false
    const { config, cpus } = node
    const bound = waitBound(config, {
      ahead: job.ahead,
      cpus: cpus.count,
      even: this.#even,
      startTime: node.pool.longestStartTime,
      nodes: this.#watched.length,
      neighbours: this.#watched.filter((each) => each.node.cpus === cpus).length,
      shared: this.#config.nodes.length > 1,
      latency: this.#config.latency,
    })
    this.#nearest = Math.max(this.#nearest, wait / bound)
    if (wait > bound)
      this.#fault(
        this.#watched.findIndex((each) => each.node === node),
        `left job ${job.number} (${job.task}, ${job.kind} ${Math.round(job.ms)} ms, ${job.ahead} ahead) waiting for ${Math.round(wait)} ms with a CPU free and ${node.pool.workers.length} of ${node.settings.maxWorkers} workers; at most ${Math.round(bound)}`,
      )
    return true
  }

  #fault(index: number, what: string): void {
    if (this.#faults.length < 20) this.#faults.push(`${Math.round(this.#clock.now)} ms: node ${index} ${what}`)
  }

  outcome(jobs: readonly Job[]): Outcome {
    const never = jobs.filter(({ beganAt }) => beganAt === undefined)
    if (never.length > 0) this.#faults.push(`${never.length} jobs never began, the first of them ${never[0]!.number}`)
    this.#changed(0)
    const waits = jobs.flatMap(({ at, beganAt }) => (beganAt === undefined ? [] : [beganAt - at])).toSorted((a, b) => a - b)
    return {
      jobs,
      waits,
      starts: this.#starts,
      retired: this.#retired,
      workerSeconds: this.#workerTime / 1_000,
      peakWorkers: this.#peakWorkers,
      duration: this.#clock.now,
      longestIdleWait: this.#longestIdleWait,
      nearest: this.#nearest,
      faults: this.#faults,
    }
  }
}
