import { performance } from 'node:perf_hooks'
import type { WorkerStats } from '../../pool/types.js'
import { availableCpus } from '../../util/available-cpus.js'
import { clearInterval, microtask, setInterval } from '../../util/node-time.js'
import type { QueueBacklog } from '../broker.js'
import { isUp, type NodeParts } from '../node-stats.js'
import { HeldJobs } from './held-jobs.js'
import { Hold, LATELY, movingWorkers } from './hold.js'
import { loadOf } from './load.js'
import { ConcurrencyAdvice, WorkerCpu } from './worker-cpu.js'

/** ms between two looks, at most and at least: `scaleUpAfter` where it is between them. */
const LONGEST_INTERVAL = 250
const SHORTEST_INTERVAL = 50

/** Looks at the load of a node again and again: starts and retires workers, holds more or fewer jobs, and gives back what another node can run. */
export class Scaling {
  readonly #parts: NodeParts
  readonly #takesJobs: () => boolean
  readonly #hold: Hold
  readonly #cpu = new WorkerCpu(availableCpus())
  readonly #heldJobs: HeldJobs
  readonly #advice = new ConcurrencyAdvice()
  #timer: NodeJS.Timeout | undefined
  #since = 0
  #askedAt = Number.NEGATIVE_INFINITY
  #checkedAt = 0
  #isAsking = false
  /** Workers for whose slots jobs are held ahead: fewer than there are once jobs had to go back. */
  #aheadWorkers = Number.POSITIVE_INFINITY
  /** Jobs that are ready in the node's queues, as last told. */
  depth: number | undefined

  /** `takesJobs`: false while the node is quiet, paused or runs a job alone: the backlog is no reason to scale then. */
  constructor(parts: NodeParts, takesJobs: () => boolean) {
    const { concurrency, prefetchPerWorker } = parts.settings
    this.#parts = parts
    this.#takesJobs = takesJobs
    this.#hold = new Hold((prefetchPerWorker - concurrency) / concurrency)
    this.#heldJobs = new HeldJobs(parts.runtime)
  }

  start(): void {
    const { scaleUpAfter, scaleCheckInterval, logger } = this.#parts.settings
    this.#since = performance.now()
    const interval = Math.max(SHORTEST_INTERVAL, Math.min(LONGEST_INTERVAL, scaleUpAfter, scaleCheckInterval))
    this.#timer = setInterval(() => this.#look().catch((err: unknown) => logger?.error({ err }, 'the node could not look at its load')), interval)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** A task was measured for the first time: jobs may be held ahead. Not in this call: a job is being released. */
  measured(): void {
    microtask(() => {
      if (this.#timer !== undefined) this.#updateHold(performance.now())
    })
  }

  async #look(): Promise<void> {
    const now = performance.now()
    const workers = this.#upWorkers
    this.#cpu.look(workers, now)
    this.#updateHold(now)
    this.#advise()
    const { runtime, prefetch: room } = this.#parts
    const roomTaken = runtime.takePeakHeld() >= room.capacity && room.capacity > room.slots
    const backlog = roomTaken || this.#isToAsk(workers, now) ? await this.#ask(now) : undefined
    if (this.#timer === undefined) return
    if (this.#takesJobs()) this.#apply(roomTaken, backlog)
    const { prefetch, scale, settings } = this.#parts
    if (now - this.#checkedAt < settings.scaleCheckInterval) return
    this.#checkedAt = now
    prefetch.check(this.#upWorkers.length, scale.wanted)
  }

  get #upWorkers(): WorkerStats[] {
    return this.#parts.pool.stats().workers.filter(isUp)
  }

  #isToAsk(workers: readonly WorkerStats[], now: number): boolean {
    const { runtime, settings } = this.#parts
    const { concurrency, scaleUpAfter, scaleCheckInterval } = settings
    const { jobs, longest } = runtime.waiting(now)
    // A main thread that does not turn leaves its slots free: what is held for it takes them.
    let taken = workers.reduce((sum, worker) => sum + worker.running, 0)
    for (const held of jobs.values()) taken += held
    return taken >= workers.length * concurrency || longest >= scaleUpAfter || now - this.#askedAt >= scaleCheckInterval
  }

  /** Undefined: the broker cannot be asked. One request at a time, however slowly it answers. */
  async #ask(now: number): Promise<readonly QueueBacklog[] | undefined> {
    if (this.#isAsking) return undefined
    const { broker } = this.#parts
    this.#isAsking = true
    this.#askedAt = now
    try {
      const backlog = broker.backlog === undefined ? [{ queue: '', ready: await broker.depth(), share: undefined }] : await broker.backlog()
      this.depth = backlog.reduce((sum, { ready }) => sum + ready, 0)
      return backlog
    } catch {
      return undefined
    } finally {
      this.#isAsking = false
    }
  }

  #apply(roomTaken: boolean, backlog: readonly QueueBacklog[] = []): void {
    const now = performance.now()
    const up = this.#upWorkers
    const { load, workers } = loadOf(this.#parts, { backlog, workers: up, cpu: this.#cpu, roomTaken, since: this.#since, now })
    this.#parts.scale.check(load, workers)
    const moving = movingWorkers(up, this.#parts.settings.concurrency)
    const hasGivenBack = this.#parts.broker.canRequeue !== false && this.#heldJobs.giveBack(backlog, now) > 0
    // At once: what goes back would come to this node again.
    if (hasGivenBack) this.#aheadWorkers = moving
    else if (moving > this.#aheadWorkers) this.#aheadWorkers = moving < up.length ? moving : Number.POSITIVE_INFINITY
    else return
    this.#setAhead()
  }

  #updateHold(now: number): void {
    if (this.#hold.update(this.#parts.runtime.runTimes.since(now - LATELY), now)) this.#setAhead()
  }

  #setAhead(): void {
    this.#parts.prefetch.setAhead(this.#hold.ahead, this.#aheadWorkers)
  }

  #advise(): void {
    const { runtime, settings } = this.#parts
    if (settings.concurrency > 1) return
    const { succeeded, failed, retried } = runtime.stats.totals
    const text = this.#advice.text(succeeded + failed + retried, this.#cpu.shareOfBusyTime)
    if (text !== undefined) settings.logger?.info({}, text)
  }
}
