import type { Hub } from '../../src/hub/index.js'
import type { JobRecord } from '../../src/pool/jobs/job.js'
import type { Pool } from '../../src/pool/pool.js'
import type { RunOptions } from '../../src/pool/types.js'
import { PoolClosedError, QueueFullError, WorkerStartError } from '../../src/wire/errors.js'
import type { RunConfig } from './config.js'
import { Consumers } from './consumers.js'
import type { Faults } from './faults.js'
import type { Host } from './host.js'
import type { Judge } from './judge.js'
import { drawPlan, isEndless, LONGEST_PLAN, type Plan, type TaskName } from './plans.js'
import { Probe } from './probe.js'
import type { SimProcess } from './process.js'
import { Random } from './random.js'
import type { Coverage, JobTruth, Truth } from './truth.js'
import { settlePromises, type World } from './world.js'

export interface Stage {
  config: RunConfig
  world: World
  host: Host
  truth: Truth
  judge: Judge
  faults: Faults
  processes: Map<number, SimProcess>
  pool: Pool
  hub: Hub
  coverage: Coverage
}

/** How long everything may take to settle once nothing is done to anybody any more, ms. */
const QUIET_WITHIN = 400_000
const LOOK_EVERY = 250

const LAST: Omit<Plan, 'key'> = { kind: 'sleep', ms: 8_000, count: 0, heeds: true, ballast: undefined }

type Command = (draw: Random) => void | Promise<void>

/** Turns numbers into what a user, or fate, does to the pool; then lets it come to rest, tries it, and ends it. */
export class Script {
  readonly #stage: Stage
  readonly #consumers: Consumers
  readonly #commands: readonly Command[]
  readonly #jobs: JobTruth[] = []
  readonly #controllers: { controller: AbortController; job: JobTruth }[] = []
  /** Calls that must settle before the end, by what they are. */
  readonly #calls = new Map<string, number>()
  #keys = 0
  #max: number
  #closing: Promise<void> | undefined

  constructor(stage: Stage) {
    this.#stage = stage
    this.#max = stage.config.workers
    this.#consumers = new Consumers(stage, () => this.#keys++)
    this.#bound()
    this.#commands = this.#weighted()
  }

  /** False: no worker could be started, which was told as createPool tells it. */
  async begin(): Promise<boolean> {
    const { pool, world, truth } = this.#stage
    let up: boolean | undefined
    pool.firstWorkerUp().then(
      () => {
        up = true
      },
      (error) => {
        up = false
        truth.demand(error instanceof WorkerStartError, () => `promise 8: firstUp() rejected with ${String(error)}`)
      },
    )
    for (let waited = 0; up === undefined && waited < QUIET_WITHIN; waited += LOOK_EVERY) await world.until(world.now + LOOK_EVERY)
    truth.demand(up !== undefined, () => 'promise 8: firstUp() never settled')
    return up === true
  }

  async step(number: number): Promise<void> {
    const { world, host, truth } = this.#stage
    const draw = new Random(number)
    const command = number === 0 ? this.#rest(() => 1) : draw.pick(this.#commands)
    if (host.stalledUntil > world.now) {
      // The host's own code is held up: it goes on where it stood, before its event loop turns, or after.
      const until = host.stalledUntil - (draw.chance(0.5) ? 0.001 : 0)
      await world.until(until)
    }
    await command(draw)
    await settlePromises()
    if (truth.processBound > this.#max + this.#stage.config.spare + 1) this.#bound()
    this.#hold(truth)
  }

  /** Nothing is done to anybody any more: everything settles, and every worker takes jobs again. */
  async quiet(): Promise<void> {
    const { world, faults, truth, pool, judge, host, config, hub } = this.#stage
    faults.stop()
    host.lookCost = 0
    await world.until(Math.max(world.now, host.stalledUntil) + 1)
    this.#cancelEndless()
    this.#consumers.finish()
    await this.#until(
      'everything has settled',
      () => this.#unsettled() === '' && this.#calls.size === 0,
      () => `${this.#unsettled()} ${[...this.#calls.keys()]}`,
    )
    if (truth.violations.length > 0) return
    if (!judge.ended) {
      await this.#noneStandsStill()
      // Until a heartbeat has told of every worker's memory as it is now.
      await world.until(world.now + 2_500)
      truth.demand(!host.kept, () => 'promise 6: an idle pool keeps the host alive')
      const { queued, running } = pool.stats()
      truth.demand(queued === 0 && running === 0, () => `nothing is pending, and stats() says queued ${queued}, running ${running}`)
      const probe = new Probe({
        config,
        pool,
        hub,
        truth,
        send: (name, plan, options) => this.#send(name, { ...plan, key: this.#keys++ }, options),
        cancel: (job) => this.#cancelOne(job),
        until: (what, done, state) => this.#until(what, done, state),
      })
      await probe.run(this.#least(), this.#probeWorkers())
      // What runs longer than a worker that leaves is given, for close() to wait for.
      for (let left = 2; left > 0; left--) this.#send('slow', { ...LAST, key: this.#keys++ }, {})
      await settlePromises()
    }
  }

  /** Watchdogs tell of main threads that turn no more though no job runs; without one, it takes a job that is not taken up. */
  async #noneStandsStill(): Promise<void> {
    const { config, pool, processes, world } = this.#stage
    // What was cancelled on its way may still begin, and leave something behind.
    await this.#until(
      'no worker holds a job',
      () => pool.stats().workers.every(({ state }) => state !== 'busy'),
      () => JSON.stringify(pool.stats().workers.map(({ id, state }) => ({ id, state }))),
    )
    await world.until(world.now + LONGEST_PLAN)
    const standing = (): SimProcess[] => [...processes.values()].filter(({ alive, main }) => alive && main.standsSince !== undefined)
    if (!config.watchdog) for (const process of standing()) process.die({ exitCode: null, signal: 'SIGKILL' })
    await this.#until(
      'workers that stand still are replaced',
      () => standing().length === 0,
      () =>
        standing()
          .map(({ id }) => `worker ${id}`)
          .join(', '),
    )
  }

  async end(): Promise<void> {
    const { pool, judge, world } = this.#stage
    if (!judge.ended && world.random.chance(0.5)) this.#terminate()
    else this.#close()
    let closed = false
    void this.#closing?.then(() => {
      closed = true
    })
    await this.#until(
      'the pool has closed',
      () => closed,
      () => JSON.stringify(pool.stats().workers.map(({ id, state }) => ({ id, state }))),
    )
    await world.until(world.now + 1_000)
    this.#consumers.verdicts()
  }

  // ---- what must hold after every step

  #hold(truth: Truth): void {
    const { host, judge, pool, world } = this.#stage
    const pending = this.#jobs.some(({ record }) => !record!.isSettled)
    if (pending && !judge.ended) truth.demand(host.kept, () => 'jobs are pending, and the pool does not keep the host alive')
    // stats() costs more than a step.
    if (world.random.chance(0.9)) return
    const { queued, running } = pool.stats()
    const known = this.#jobs.filter(({ record }) => !record!.isSettled)
    const waiting = known.filter(({ record }) => record!.state !== 'accepted').length
    truth.demand(queued >= waiting, () => `${waiting} jobs wait, and stats() says ${queued}`)
    truth.demand(running >= known.length - waiting, () => `${known.length - waiting} jobs run, and stats() says ${running}`)
  }

  /** A smaller figure holds once those that were too many have left. */
  #bound(): void {
    const { truth, config, processes, pool } = this.#stage
    const alive = [...processes.values()].filter((process) => process.alive)
    const figure = Math.max(this.#max, truth.processBound === Number.POSITIVE_INFINITY ? 0 : truth.processBound - config.spare - 1)
    const settled = alive.length <= this.#max && pool.stats().workers.every(({ state }) => state === 'up' || state === 'busy' || state === 'starting')
    const now = settled ? this.#max : figure
    truth.processBound = now + config.spare + 1
    truth.runningBound = (now + (this.#consumers.broadcasts > 0 ? config.spare : 0)) * config.concurrency
  }

  // ---- what is done

  #weighted(): readonly Command[] {
    const { faults, pool, host, world, coverage } = this.#stage
    const weights: [number, Command][] = [
      [26, this.#rest((draw) => draw.pick([0.05, 0.3, 1, 2, 3, 8, 20]))],
      [8, this.#rest((draw) => draw.pick([50, 120, 300, 700]))],
      [1, this.#rest((draw) => draw.pick([1_500, 4_000, 9_000]))],
      [26, (draw) => this.#submit(draw)],
      [1, (draw) => this.#burst(draw)],
      [1, (draw) => this.#culprits(draw)],
      [7, (draw) => this.#cancel(draw)],
      [2, (draw) => this.#abort(draw)],
      [3, (draw) => this.#consumers.open(draw)],
      [4, (draw) => this.#consumers.take(draw)],
      [2, (draw) => this.#consumers.leave(draw)],
      [1, (draw) => this.#consumers.map(draw)],
      [1, (draw) => this.#broadcast(draw)],
      [1, (draw) => this.#behindLeftover(draw)],
      [2, (draw) => this.#resize(draw)],
      [1, () => this.#restart()],
      [1, () => this.#ready()],
      [
        3,
        (draw) => {
          const ms = draw.pick([5, 60, 400, 2_000, 10_000])
          coverage.fault('host stalls')
          world.say(`the host stalls for ${ms} ms`)
          host.stall(ms)
        },
      ],
      [2, () => faults.kill()],
      [2, (draw) => faults.dieWriting(draw)],
      [1, (draw) => faults.dieReading(draw)],
      [1, (draw) => faults.freeze(draw)],
      [1, (draw) => faults.breakPipe(draw)],
      [1, (draw) => faults.slowAnswers(draw)],
      [1, (draw) => faults.badStarts(draw)],
      [1, (draw) => faults.slowExitNews(draw)],
      [1, (draw) => faults.weather(draw)],
      [1, (draw) => faults.grow(draw)],
      [1, () => void pool.stats()],
      [1, (draw) => (draw.chance(0.25) ? (draw.chance(0.5) ? this.#close(draw) : this.#terminate()) : undefined)],
    ]
    return weights.flatMap(([weight, command]) => new Array<Command>(weight).fill(command))
  }

  #rest(ms: (draw: Random) => number): Command {
    const { world } = this.#stage
    return (draw) => world.until(world.now + ms(draw))
  }

  #submit(draw: Random, kind?: Plan['kind'], name?: TaskName): void {
    const plan = drawPlan(draw, this.#keys++, kind)
    const options: RunOptions = {}
    if (draw.chance(0.3)) options.priority = draw.between(-1, 2)
    if (draw.chance(0.3)) options.retryLost = draw.between(1, 2)
    const endless = isEndless(plan)
    if (draw.chance(endless ? 0.4 : 0.12)) options.softTimeLimit = draw.pick([1, 20, 300])
    if (draw.chance(endless ? 0.4 : 0.12)) options.timeLimit = draw.pick([300, 1_000, 3_000])
    if (draw.chance(0.05)) options.context = { key: plan.key }
    const controller = draw.chance(0.1) ? new AbortController() : undefined
    if (controller !== undefined) options.signal = controller.signal
    const called = name ?? (plan.kind === 'noop' ? (draw.chance(0.8) ? 'quick' : 'mixed') : draw.pick(['mixed', 'slow'] as const))
    const job = this.#send(called, plan, options)
    if (controller !== undefined) this.#controllers.push({ controller, job })
  }

  #send(name: TaskName, plan: Plan, options: RunOptions): JobTruth {
    const { pool, truth, world, judge, config } = this.#stage
    const queued = config.maxQueue === undefined ? 0 : pool.stats().queued
    const record = pool.submit(name, [plan], options) as unknown as JobRecord
    world.say(`job ${record.number} submitted: ${plan.kind} ${plan.ms} ms ${JSON.stringify(options)}`)
    const job = truth.watch(record, plan)
    job.retryLost = options.retryLost ?? 0
    this.#jobs.push(job)
    const refused = record.outcome !== undefined && 'error' in record.outcome ? record.outcome.error : undefined
    job.refused = refused !== undefined
    if (judge.ended) truth.demand(refused instanceof PoolClosedError, () => `promise 3: a job was taken after the end: ${String(refused)}`)
    else if (queued >= (config.maxQueue ?? Number.POSITIVE_INFINITY)) {
      truth.demand(refused instanceof QueueFullError, () => `promise 11: a job was taken although ${queued} wait: ${String(refused)}`)
    } else truth.demand(refused === undefined, () => `a job was refused: ${String(refused)}`)
    return job
  }

  /** Now and then so many, with limits so long, that most deadlines in the hub's books are cancelled ones. */
  #burst(draw: Random): void {
    if (draw.chance(0.1)) {
      for (let left = 80; left > 0; left--) this.#send('quick', drawPlan(draw, this.#keys++, 'noop'), { timeLimit: 1_000_000 })
      return
    }
    for (let left = draw.between(3, 24); left > 0; left--) this.#submit(draw, 'noop', 'quick')
  }

  /** Jobs that may all run again, one of which ends its worker each time. */
  #culprits(draw: Random): void {
    for (let left = draw.between(2, 8); left > 0; left--) {
      const plan = { ...drawPlan(draw, this.#keys++, left === 1 ? draw.pick(['exit', 'crash'] as const) : 'sleep'), ballast: undefined }
      this.#send('slow', plan, { retryLost: draw.between(1, 3) })
    }
  }

  /** Mostly to workers that are busy, some of which die before they have answered. */
  async #broadcast(draw: Random): Promise<void> {
    if (draw.chance(0.6)) for (let left = draw.between(1, 6); left > 0; left--) this.#submit(draw, 'sleep', 'slow')
    await this.#rest(() => draw.below(3))(draw)
    this.#consumers.broadcast(draw, this.#max)
    this.#bound()
    if (draw.chance(0.4)) for (let left = draw.between(1, 2); left > 0; left--) this.#stage.faults.kill()
  }

  /** Jobs for a worker whose main thread is held by what a job left there, one of which is taken back. */
  async #behindLeftover(draw: Random): Promise<void> {
    this.#submit(draw, 'leftover', 'quick')
    const rest = this.#rest(() => draw.between(1, 6))
    await rest(draw)
    for (let left = draw.between(1, 4); left > 0; left--) this.#submit(draw, 'noop', 'quick')
    await rest(draw)
    this.#cancel(draw)
  }

  #cancel(draw: Random): void {
    const pending = this.#jobs.filter(({ record }) => !record!.isSettled)
    if (pending.length > 0) this.#cancelOne(draw.pick(pending))
  }

  #cancelOne(job: JobTruth): void {
    const { truth, world } = this.#stage
    const record = job.record!
    const { state } = record
    world.say(`job ${job.number} is cancelled`)
    job.cancelledAt = world.now
    const told = record.cancel(new Error(`cancelled ${job.number}`))
    truth.demand(told && record.isSettled, () => `promise 4: job ${job.number} was ${state}, and cancel() did not settle it at once`)
    if (state === 'queued' && record.attempt === 1) truth.demand(record.mayHaveBegun === false, () => `promise 1: job ${job.number} waited, and may have begun`)
  }

  #abort(draw: Random): void {
    const { world } = this.#stage
    if (this.#controllers.length === 0) return
    const { controller, job } = draw.pick(this.#controllers)
    job.cancelledAt ??= world.now
    controller.abort(new Error(`aborted ${job.number}`))
  }

  #resize(draw: Random): void {
    const { pool, judge, world, config } = this.#stage
    if (judge.ended) return
    const to = draw.between(1, Math.max(2, config.workers))
    world.say(`resize to ${to}`)
    this.#max = to
    this.#consumers.resizes++
    this.#bound()
    pool.resize(to)
  }

  #restart(): void {
    this.#call('restart()', this.#stage.pool.restart())
  }

  #ready(): void {
    this.#call('ready()', this.#stage.pool.ready())
  }

  #close(draw?: Random): void {
    const { pool, judge, world } = this.#stage
    judge.ended = true
    const timeout = draw?.chance(0.5) ? draw.pick([1, 200, 5_000]) : undefined
    world.say(`close ${timeout ?? ''}`)
    if (timeout !== undefined) judge.terminated = true
    this.#closing = pool.close(timeout === undefined ? {} : { timeout })
  }

  #terminate(): void {
    const { pool, judge, world } = this.#stage
    world.say('terminate')
    judge.ended = true
    judge.terminated = true
    this.#closing = pool.terminate()
  }

  #call(name: string, promise: Promise<unknown>): void {
    const { truth, judge } = this.#stage
    const key = `${name} ${this.#keys++}`
    this.#calls.set(key, 1)
    promise.then(
      () => this.#calls.delete(key),
      (error) => {
        this.#calls.delete(key)
        const fair = (error instanceof PoolClosedError && judge.ended) || error instanceof WorkerStartError
        truth.demand(fair, () => `${name} rejected: ${String(error)}`)
      },
    )
  }

  // ---- coming to rest

  /** What only a limit or a cancellation ends is cancelled. */
  #cancelEndless(): void {
    for (const job of this.#jobs) {
      const { softLimit, hardLimit } = job.record!.spec
      if (!job.record!.isSettled && isEndless(job.plan!) && softLimit + hardLimit === 0) this.#cancelOne(job)
    }
  }

  #unsettled(): string {
    const jobs = this.#jobs.filter(({ settled }) => settled === 0)
    return [
      ...jobs.map(({ number, record, plan }) => `job ${number} (${plan!.kind}) is ${record!.state} in worker ${record!.worker}`),
      ...this.#consumers.open_(),
    ].join('; ')
  }

  async #until(what: string, done: () => boolean, state: () => string): Promise<void> {
    const { world, truth } = this.#stage
    for (let waited = 0; waited < QUIET_WITHIN; waited += LOOK_EVERY) {
      if (done() || truth.violations.length > 0) return
      await world.until(world.now + LOOK_EVERY)
    }
    truth.violated(`promise 3: not after ${QUIET_WITHIN} ms: ${what}: ${state()}`)
  }

  /** Workers that there are at the least once nothing moves. */
  #least(): number {
    const { config } = this.#stage
    return (config.min === undefined ? this.#max : Math.min(config.min, this.#max)) + config.spare
  }

  /** A window is filled before the pool grows: there only the fewest workers are sure to be there. */
  #probeWorkers(): number {
    const { config } = this.#stage
    const grows = config.min === undefined || config.dispatch === 'fair' || config.dispatch === 'adaptive'
    return grows ? this.#max : Math.max(1, Math.min(config.min ?? 1, this.#max))
  }
}
