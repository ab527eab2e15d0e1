import type { Broker, QueueBacklog } from '../../../src/node/broker.js'
import type { NodeParts } from '../../../src/node/node-stats.js'
import { type NodeSettings, readNodeOptions } from '../../../src/node/options.js'
import { HeldJobs } from '../../../src/node/scaling/held-jobs.js'
import { Hold, LATELY, movingWorkers } from '../../../src/node/scaling/hold.js'
import { loadOf } from '../../../src/node/scaling/load.js'
import { NodeAutoscaler } from '../../../src/node/scaling/node-autoscaler.js'
import { PrefetchControl } from '../../../src/node/scaling/prefetch-control.js'
import { WorkerCpu } from '../../../src/node/scaling/worker-cpu.js'
import { TaskRuns } from '../../../src/runtime/collections/run-times.js'
import type { Random } from '../random.js'
import type { SimBroker, SimConsumer } from './broker.js'
import type { Clock } from './clock.js'
import type { Cpus } from './cpus.js'
import type { Job } from './job.js'
import { type PoolEvents, SimPool } from './pool.js'

export interface NodeConfig {
  readonly minWorkers: number
  readonly maxWorkers: number
  readonly concurrency: number
  readonly scaleUpAfter: number
  readonly scaleUpBatch: number
  readonly keepAlive: number
  readonly queues: readonly number[]
  readonly startCpu: number
  readonly startWait: number
  readonly failing: readonly [from: number, to: number]
  /** A heartbeat comes late by up to so many ms. */
  readonly lateBeats: number
}

/** ms */
export const HEARTBEAT_INTERVAL = 1_000

/** A node: the real rules of scaling over the models of its pool and its broker. The looks are those of src/node/scaling/scaling.ts. */
export class SimNode {
  readonly config: NodeConfig
  readonly pool: SimPool
  readonly cpus: Cpus
  readonly scale: NodeAutoscaler
  readonly settings: NodeSettings
  readonly #clock: Clock
  readonly #broker: SimBroker
  readonly #consumer: SimConsumer
  readonly #prefetch: PrefetchControl
  readonly #cpu: WorkerCpu
  readonly #hold: Hold
  readonly #heldJobs: HeldJobs
  readonly #tasks = new Map<string, TaskRuns>()
  readonly #all = new TaskRuns()
  readonly #parts: NodeParts
  #lastBegan: number | undefined
  #peakHeld = 0
  #aheadWorkers = Number.POSITIVE_INFINITY
  #askedAt = Number.NEGATIVE_INFINITY
  #checkedAt = 0
  #isAsking = false

  constructor(clock: Clock, random: Random, { broker, cpus, config, events }: { broker: SimBroker; cpus: Cpus; config: NodeConfig; events: PoolEvents }) {
    const { minWorkers, maxWorkers, concurrency, scaleUpAfter, scaleUpBatch, keepAlive } = config
    this.config = config
    this.cpus = cpus
    this.#clock = clock
    this.#broker = broker
    this.settings = readNodeOptions({ tasks: '/tasks.js', minWorkers, maxWorkers, concurrency, scaleUpAfter, scaleUpBatch, keepAlive })
    this.pool = new SimPool(clock, cpus, config, {
      ...events,
      began: (job) => {
        this.#began(job)
        events.began(job)
      },
      ended: (job) => {
        this.#ended(job)
        events.ended(job)
      },
      up: () => {
        events.up()
        this.#prefetch.workersChanged(this.#upWorkers.length, this.scale.wanted)
      },
    })
    this.#consumer = broker.consume(config.queues, (job) => {
      this.#peakHeld = Math.max(this.#peakHeld, this.#held)
      this.pool.submit(job)
    })
    this.scale = new NodeAutoscaler(this.settings, { cpus: cpus.count, now: clock.now, random: () => random.next() }, (workers) => {
      this.pool.resize(workers)
      this.#prefetch.workersChanged(this.#upWorkers.length, workers)
    })
    this.#prefetch = new PrefetchControl(
      { consume: (capacity: number, _receive: unknown, _giveBack: unknown, slots: number) => this.#consume(capacity, slots) } as unknown as Broker,
      this.settings,
    )
    this.#cpu = new WorkerCpu(cpus.count)
    const { prefetchPerWorker } = this.settings
    this.#hold = new Hold((prefetchPerWorker - concurrency) / concurrency)
    const runtime = {
      waiting: (now: number) => this.#waiting(now),
      giveBackHeld: (queue: string, since: number) => this.#giveBackHeld(queue, since),
      runTimes: { mean: (name: string) => this.#tasks.get(name)?.mean, all: this.#all, lastBegan: undefined as number | undefined },
    }
    Object.defineProperty(runtime.runTimes, 'lastBegan', { get: () => this.#lastBegan })
    this.#heldJobs = new HeldJobs(runtime)
    this.#parts = { pool: this.pool, runtime, settings: this.settings } as unknown as NodeParts
    this.#prefetch.start(
      minWorkers,
      minWorkers,
      () => {},
      () => {},
    )
    const look = Math.max(50, Math.min(250, scaleUpAfter, this.settings.scaleCheckInterval))
    clock.every(look, () => this.#look(), random.next() * look)
    clock.every(HEARTBEAT_INTERVAL, () => clock.after(random.next() * config.lateBeats, () => this.#beat()), random.next() * HEARTBEAT_INTERVAL)
  }

  #consume(capacity: number, slots: number): { setCapacity(capacity: number, slots: number): void } {
    this.#consumer.setCapacity(capacity, slots)
    return this.#consumer
  }

  #beat(): void {
    for (const worker of this.pool.workers) worker.beat()
  }

  #runsOf(task: string): TaskRuns {
    let runs = this.#tasks.get(task)
    if (runs === undefined) {
      runs = new TaskRuns()
      this.#tasks.set(task, runs)
    }
    return runs
  }

  #began({ task }: Job): void {
    const runs = this.#runsOf(task)
    runs.running++
    runs.lastBegan = this.#clock.now
    this.#lastBegan = this.#clock.now
  }

  #ended(job: Job): void {
    const runs = this.#runsOf(job.task)
    const ms = this.#clock.now - job.beganAt!
    runs.running--
    this.#all.ended(ms)
    this.#consumer.settled(job)
    if (runs.ended(ms)) this.#updateHold()
  }

  #waiting(now: number): { jobs: Map<string, number>; longest: number } {
    const jobs = new Map<string, number>()
    let longest = 0
    for (const { task, submittedAt } of this.pool.waiting) {
      jobs.set(task, (jobs.get(task) ?? 0) + 1)
      longest = Math.max(longest, now - submittedAt)
    }
    return { jobs, longest }
  }

  #giveBackHeld(queue: string, since: number): string[] {
    const isOfQueue = (job: Job): boolean => String(job.queue) === queue
    if (!this.pool.waiting.some((job) => isOfQueue(job) && job.submittedAt <= since)) return []
    const jobs = this.pool.withdraw(isOfQueue)
    this.#consumer.giveBack(jobs)
    return jobs.map(({ number }) => String(number))
  }

  #look(): void {
    const { now } = this.#clock
    const samples = this.#samples
    this.#cpu.look(samples, now)
    this.#updateHold()
    const roomTaken = this.#peakHeld >= this.#prefetch.capacity && this.#prefetch.capacity > this.#prefetch.slots
    this.#peakHeld = this.#held
    if (roomTaken || this.#isToAsk(samples, now)) this.#ask(roomTaken)
    else this.#apply(roomTaken, [])
    if (now - this.#checkedAt < this.settings.scaleCheckInterval) return
    this.#checkedAt = now
    this.#prefetch.check(this.#upWorkers.length, this.scale.wanted)
  }

  get #upWorkers() {
    return this.pool.workers.filter(({ isDraining }) => !isDraining)
  }

  get #samples() {
    return this.#upWorkers.map(({ sample }) => sample)
  }

  get #held(): number {
    return this.#consumer.rooms.reduce((sum, { unsettled }) => sum + unsettled, 0)
  }

  #isToAsk(samples: readonly { readonly running: number }[], now: number): boolean {
    const { concurrency, scaleUpAfter, scaleCheckInterval } = this.settings
    const { jobs, longest } = this.#waiting(now)
    let taken = samples.reduce((sum, worker) => sum + worker.running, 0)
    for (const held of jobs.values()) taken += held
    return taken >= samples.length * concurrency || longest >= scaleUpAfter || now - this.#askedAt >= scaleCheckInterval
  }

  #ask(roomTaken: boolean): void {
    if (this.#isAsking) return
    this.#isAsking = true
    this.#askedAt = this.#clock.now
    this.#clock.after(this.#broker.latency, () => {
      const backlog = this.#broker.backlog(this.config.queues)
      this.#clock.after(this.#broker.latency, () => {
        this.#isAsking = false
        this.#apply(roomTaken, backlog)
      })
    })
  }

  #apply(roomTaken: boolean, backlog: readonly QueueBacklog[]): void {
    const { now } = this.#clock
    const workers = this.#samples as unknown as Parameters<typeof loadOf>[1]['workers']
    const { load, workers: counts } = loadOf(this.#parts, { backlog, workers, cpu: this.#cpu, roomTaken, since: 0, now })
    this.scale.check(load, counts)
    const samples = this.#samples
    const moving = movingWorkers(samples as unknown as Parameters<typeof movingWorkers>[0], this.settings.concurrency)
    if (this.#heldJobs.giveBack(backlog, now) > 0) this.#aheadWorkers = moving
    else if (moving > this.#aheadWorkers) this.#aheadWorkers = moving < samples.length ? moving : Number.POSITIVE_INFINITY
    else return
    this.#setAhead()
  }

  #setAhead(): void {
    this.#prefetch.setAhead(this.#hold.ahead, this.#aheadWorkers)
  }

  #updateHold(): void {
    const { now } = this.#clock
    const lately = [...this.#tasks.values()].filter(({ running, lastBegan }) => running > 0 || lastBegan >= now - LATELY)
    if (this.#hold.update(lately, now)) this.#setAhead()
  }
}
