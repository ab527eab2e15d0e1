import type { JobRecord } from '../../src/pool/jobs/job.js'
import type { RunOptions } from '../../src/pool/types.js'
import { PoolClosedError, QueueFullError, WorkerStartError } from '../../src/wire/errors.js'
import { Consumers } from './consumers.js'
import type { JobHistory } from './history.js'
import { drawPlan, isEndless, type Plan, type TaskName } from './plans.js'
import type { Random } from './random.js'
import type { Simulation } from './script.js'

const CANCEL_GRACE = 1_000
/** How long it takes to end the process of a job that is cancelled with a grace of 0, at the most, ms. */
const END_WITHIN = 300

export type Command = (random: Random) => void | Promise<void>

/** The commands of a script: calls of the pool, and faults. */
export class Commands {
  readonly consumers: Consumers
  readonly jobs: JobHistory[] = []
  /** The calls of the pool that must settle before the end, by name. */
  readonly calls = new Map<string, number>()
  maxWorkers: number
  closing: Promise<void> | undefined
  readonly #simulation: Simulation
  readonly #weighted: readonly Command[]
  readonly #controllers: { controller: AbortController; job: JobHistory }[] = []
  #keys = 0

  constructor(simulation: Simulation) {
    this.#simulation = simulation
    this.maxWorkers = simulation.config.workers
    this.consumers = new Consumers(simulation, () => this.nextKey())
    this.updateBounds()
    this.#weighted = this.#weightedCommands()
  }

  nextKey(): number {
    return this.#keys++
  }

  pick(random: Random): Command {
    return random.pick(this.#weighted)
  }

  /** A smaller bound applies once the surplus workers have exited. */
  updateBounds(): void {
    const { history, config, processes, pool } = this.#simulation
    const alive = [...processes.values()].filter((process) => process.alive)
    const largest = Math.max(this.maxWorkers, history.maxProcesses === Number.POSITIVE_INFINITY ? 0 : history.maxProcesses - config.spare - 1)
    const workers = pool.stats().workers
    // A launcher process starts later what it was asked for.
    const asked = config.launcher === 'process' ? workers.length : 0
    const hasResized =
      Math.max(alive.length, asked) <= this.maxWorkers && workers.every(({ state }) => state === 'up' || state === 'busy' || state === 'starting')
    const most = hasResized ? this.maxWorkers : largest
    history.maxProcesses = most + config.spare + 1
    history.maxRunning = (most + (this.consumers.broadcasts > 0 ? config.spare : 0)) * config.concurrency
  }

  #weightedCommands(): readonly Command[] {
    const { faults, pool, host, world, coverage, config } = this.#simulation
    const weights: [number, Command][] = [
      [26, this.wait((random) => random.pick([0.05, 0.3, 1, 2, 3, 8, 20]))],
      [8, this.wait((random) => random.pick([50, 120, 300, 700]))],
      [1, this.wait((random) => random.pick([1_500, 4_000, 9_000]))],
      [26, (random) => this.#submit(random)],
      [1, (random) => this.#burst(random)],
      [1, (random) => this.#crashingRetries(random)],
      [7, (random) => this.#cancel(random)],
      [2, (random) => this.#abort(random)],
      [1, () => this.#endCancelled()],
      [1, (random) => this.#cancelOnItsWay(random)],
      [1, (random) => (random.chance(0.2) ? this.#cancelAfterStall(random) : undefined)],
      [3, (random) => this.consumers.open(random)],
      [4, (random) => this.consumers.read(random)],
      [2, (random) => this.consumers.returnOne(random)],
      [2, (random) => this.consumers.run(random)],
      [1, (random) => this.consumers.map(random)],
      [1, (random) => this.#broadcast(random)],
      [1, (random) => this.#submitBehindDetached(random)],
      [2, (random) => this.#resize(random)],
      [1, () => this.#restart()],
      [1, () => this.#ready()],
      [
        3,
        (random) => {
          const ms = random.pick([5, 60, 400, 2_000, 10_000])
          coverage.fault('host stalls')
          world.trace(`the host stalls for ${ms} ms`)
          host.stall(ms)
        },
      ],
      [2, () => faults.kill()],
      [config.launcher === 'process' ? 5 : 1, (random) => faults.launcher(random)],
      [2, (random) => faults.dieWriting(random)],
      [1, (random) => faults.dieReading(random)],
      [1, (random) => faults.freeze(random)],
      [1, (random) => faults.breakPipe(random)],
      [1, (random) => faults.delayWatchdogReplies(random)],
      [1, (random) => faults.failNextStarts(random)],
      [1, (random) => faults.delayExitReports(random)],
      [1, (random) => faults.slowPipes(random)],
      [1, (random) => faults.growMemory(random)],
      [1, () => void pool.stats()],
      [1, (random) => (random.chance(0.25) ? (random.chance(0.5) ? this.close(random) : this.terminate()) : undefined)],
    ]
    return weights.flatMap(([weight, command]) => new Array<Command>(weight).fill(command))
  }

  wait(ms: (random: Random) => number): Command {
    const { world } = this.#simulation
    return (random) => world.runUntil(world.now + ms(random))
  }

  #submit(random: Random, kind?: Plan['kind'], name?: TaskName): void {
    const plan = drawPlan(random, this.nextKey(), kind)
    const options: RunOptions = {}
    if (random.chance(0.3)) options.priority = random.between(-1, 2)
    if (random.chance(0.3)) options.retryLost = random.between(1, 2)
    const endless = isEndless(plan)
    if (random.chance(endless ? 0.4 : 0.12)) options.softTimeLimit = random.pick([1, 20, 300])
    if (random.chance(endless ? 0.4 : 0.12)) options.timeLimit = random.pick([300, 1_000, 3_000])
    if (random.chance(0.05)) options.context = { key: plan.key }
    if (plan.kind === 'call' ? endless || random.chance(0.95) : random.chance(0.05)) options.calls = this.#simulation.calls.functions
    const controller = random.chance(0.1) ? new AbortController() : undefined
    if (controller !== undefined) options.signal = controller.signal
    if (plan.key % 4 === 3) options.cancel = 'ask'
    const taskName = name ?? (plan.kind === 'noop' ? (random.chance(0.8) ? 'quick' : 'mixed') : random.pick(['mixed', 'slow'] as const))
    const job = this.submitPlan(taskName, plan, options)
    if (controller !== undefined) this.#controllers.push({ controller, job })
  }

  submitPlan(name: TaskName, plan: Plan, options: RunOptions): JobHistory {
    const { pool, history, world, checker, config } = this.#simulation
    const queued = config.maxQueue === undefined ? 0 : pool.stats().queued
    const record = pool.submit(name, [plan], options) as unknown as JobRecord
    // As with `run`, whose caller has no job to look at.
    if (world.random.chance(0.6) && options.softTimeLimit === undefined && options.timeLimit === undefined) Object.assign(record.spec, { unobserved: true })
    world.trace(`job ${record.number} submitted: ${plan.kind} ${plan.ms} ms ${JSON.stringify(options)}`)
    const job = history.observe(record, plan)
    job.retryLost = options.retryLost ?? 0
    this.jobs.push(job)
    const refused = record.outcome !== undefined && 'error' in record.outcome ? record.outcome.error : undefined
    job.refused = refused !== undefined
    if (checker.closeCalled)
      history.check(refused instanceof PoolClosedError, () => `promise 3: a closed pool did not reject a job with PoolClosedError: ${String(refused)}`)
    else if (queued >= (config.maxQueue ?? Number.POSITIVE_INFINITY)) {
      history.check(refused instanceof QueueFullError, () => `promise 11: a job was not rejected with QueueFullError while ${queued} wait: ${String(refused)}`)
    } else history.check(refused === undefined, () => `a job was rejected at its submission: ${String(refused)}`)
    return job
  }

  /** Sometimes so many jobs with long limits that most of the hub's timers are cancelled ones. */
  #burst(random: Random): void {
    if (random.chance(0.1)) {
      for (let left = 80; left > 0; left--) this.submitPlan('quick', drawPlan(random, this.nextKey(), 'noop'), { timeLimit: 1_000_000 })
      return
    }
    for (let left = random.between(3, 24); left > 0; left--) this.#submit(random, 'noop', 'quick')
  }

  /** Jobs with retries, one of which ends its worker in every attempt. */
  #crashingRetries(random: Random): void {
    for (let left = random.between(2, 8); left > 0; left--) {
      const plan = { ...drawPlan(random, this.nextKey(), left === 1 ? random.pick(['exit', 'crash'] as const) : 'sleep'), padding: undefined }
      this.submitPlan('slow', plan, { retryLost: random.between(1, 3) })
    }
  }

  /** A broadcast, mostly to busy workers, some of which die before they answer. */
  async #broadcast(random: Random): Promise<void> {
    if (random.chance(0.6)) for (let left = random.between(1, 6); left > 0; left--) this.#submit(random, 'sleep', 'slow')
    await this.wait(() => random.below(3))(random)
    this.consumers.broadcast(random, this.maxWorkers)
    this.updateBounds()
    if (random.chance(0.4)) for (let left = random.between(1, 2); left > 0; left--) this.#simulation.faults.kill()
  }

  /** Jobs for a worker whose main thread is blocked by the detached code of a job; one of them is cancelled. */
  async #submitBehindDetached(random: Random): Promise<void> {
    this.#submit(random, 'detached', 'quick')
    const wait = this.wait(() => random.between(1, 6))
    await wait(random)
    for (let left = random.between(1, 4); left > 0; left--) this.#submit(random, 'noop', 'quick')
    await wait(random)
    this.#cancel(random)
  }

  #cancel(random: Random): void {
    const pending = this.jobs.filter(({ record }) => !record!.isSettled)
    if (pending.length > 0) this.cancelJob(random.pick(pending), random.pick([undefined, undefined, undefined, 0, 0, 40, 3_000]))
  }

  cancelJob(job: JobHistory, grace?: number): void {
    const { history, world } = this.#simulation
    const record = job.record!
    const { state } = record
    world.trace(`job ${job.number} is cancelled${grace === undefined ? '' : ` with a grace of ${grace} ms`}`)
    const reason = new Error(`cancelled ${job.number}`)
    this.#noteCancellation(job, reason, grace)
    const cancelled = record.cancel(reason, { grace })
    const asked = job.askedAttempt !== undefined
    history.check(cancelled && record.isSettled === !asked, () => `promise 4: job ${job.number} was in state ${state}, and cancel() did not settle it at once`)
    if (grace === 0 && state === 'accepted') this.#checkEnd(job)
    if (state === 'queued' && record.attempt === 1)
      history.check(record.mayHaveBegun === false, () => `promise 1: job ${job.number} was waiting, but the pool reports that it may have begun`)
  }

  /** A job that is cancelled while its worker takes it up. */
  async #cancelOnItsWay(random: Random): Promise<void> {
    this.#submit(random, random.pick(['never', 'sleep', 'noop']), 'slow')
    const job = this.jobs.at(-1)!
    await this.wait(() => random.pick([0.05, 0.1, 0.2, 0.4]))(random)
    if (!job.record!.isSettled) this.cancelJob(job, random.pick([undefined, 0]))
  }

  /** A job that blocks its worker's main thread for longer than the pool waits for one that runs no job, and is cancelled then. */
  async #cancelAfterStall(random: Random): Promise<void> {
    this.submitPlan('mixed', { ...drawPlan(random, this.nextKey(), 'hang'), padding: undefined }, {})
    const job = this.jobs.at(-1)!
    await this.wait(() => random.between(9_000, 13_000))(random)
    if (!job.record!.isSettled) this.cancelJob(job)
  }

  /** Ends the process of a job that has rejected and still runs. */
  #endCancelled(): void {
    const { history, world } = this.#simulation
    const job = this.jobs.find(({ record, cancelledAt, running }) => cancelledAt !== undefined && record!.isSettled && running !== undefined)
    // Its acceptance may not be known yet: then it is ended later.
    if (job === undefined || !job.record!.accepted || job.record!.attempt > 1) return
    world.trace(`cancelled job ${job.number} is ended`)
    this.#noteCancellation(job, undefined, 0)
    history.check(!job.record!.cancel(undefined, { grace: 0 }), () => `promise 4: cancel() of job ${job.number}, which has settled, returned true`)
    this.#checkEnd(job)
  }

  /** To be called before a job is cancelled. */
  #noteCancellation(job: JobHistory, reason: unknown, grace: number | undefined): void {
    const { now } = this.#simulation.world
    const record = job.record!
    const first = job.cancelledAt === undefined
    job.cancelledAt ??= now
    job.cancelReason ??= reason
    if (first || grace !== undefined) job.graceEndsAt = Math.min(job.graceEndsAt ?? Number.POSITIVE_INFINITY, now + (grace ?? CANCEL_GRACE))
    if (first && record.spec.asks && record.state !== 'queued') job.askedAttempt = record.attempt
  }

  /** With a grace of 0 the process of a running job is ended at once. */
  #checkEnd(job: JobHistory): void {
    const { history, world, host, processes } = this.#simulation
    const { now } = world
    world.schedule(END_WITHIN, () => {
      const { running } = job
      // A host that stalls does nothing at once.
      if (running === undefined || host.stalledUntil > now) return
      const isKilled = processes.get(running.worker)?.killed !== undefined
      history.check(isKilled, () => `promise 4: job ${job.number} was cancelled with a grace of 0 ms and runs on in worker ${running.worker}`)
    })
  }

  #abort(random: Random): void {
    if (this.#controllers.length === 0) return
    const { controller, job } = random.pick(this.#controllers)
    const reason = new Error(`aborted ${job.number}`)
    if (!controller.signal.aborted && !job.record!.isSettled) this.#noteCancellation(job, reason, undefined)
    controller.abort(reason)
  }

  #resize(random: Random): void {
    const { pool, checker, world, config } = this.#simulation
    if (checker.closeCalled) return
    const to = random.between(1, Math.max(2, config.workers))
    world.trace(`resize to ${to}`)
    this.maxWorkers = to
    this.consumers.resizes++
    this.updateBounds()
    pool.resize(to)
  }

  #restart(): void {
    this.#track('restart()', this.#simulation.pool.restart())
  }

  #ready(): void {
    this.#track('ready()', this.#simulation.pool.ready())
  }

  close(random?: Random): void {
    const { pool, checker, world } = this.#simulation
    checker.closeCalled = true
    const timeout = random?.chance(0.5) ? random.pick([1, 200, 5_000]) : undefined
    world.trace(`close ${timeout ?? ''}`)
    if (timeout !== undefined) checker.terminated = true
    this.closing = pool.close(timeout === undefined ? {} : { timeout })
  }

  terminate(): void {
    const { pool, checker, world } = this.#simulation
    world.trace('terminate')
    checker.closeCalled = true
    checker.terminated = true
    this.closing = pool.terminate()
  }

  #track(name: string, promise: Promise<unknown>): void {
    const { history, checker } = this.#simulation
    const key = `${name} ${this.nextKey()}`
    this.calls.set(key, 1)
    promise.then(
      () => this.calls.delete(key),
      (error) => {
        this.calls.delete(key)
        const isExpected = (error instanceof PoolClosedError && checker.closeCalled) || error instanceof WorkerStartError
        history.check(isExpected, () => `${name} rejected: ${String(error)}`)
      },
    )
  }
}
