import type { JobRecord } from '../../src/pool/jobs/job.js'
import type { RunOptions } from '../../src/pool/types.js'
import { PoolClosedError, QueueFullError, WorkerStartError } from '../../src/wire/errors.js'
import { Consumers } from './consumers.js'
import type { JobHistory } from './history.js'
import { drawPlan, isEndless, type Plan, type TaskName } from './plans.js'
import type { Random } from './random.js'
import type { Simulation } from './script.js'

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
    const hasResized = alive.length <= this.maxWorkers && pool.stats().workers.every(({ state }) => state === 'up' || state === 'busy' || state === 'starting')
    const workers = hasResized ? this.maxWorkers : largest
    history.maxProcesses = workers + config.spare + 1
    history.maxRunning = (workers + (this.consumers.broadcasts > 0 ? config.spare : 0)) * config.concurrency
  }

  #weightedCommands(): readonly Command[] {
    const { faults, pool, host, world, coverage } = this.#simulation
    const weights: [number, Command][] = [
      [26, this.wait((random) => random.pick([0.05, 0.3, 1, 2, 3, 8, 20]))],
      [8, this.wait((random) => random.pick([50, 120, 300, 700]))],
      [1, this.wait((random) => random.pick([1_500, 4_000, 9_000]))],
      [26, (random) => this.#submit(random)],
      [1, (random) => this.#burst(random)],
      [1, (random) => this.#crashingRetries(random)],
      [7, (random) => this.#cancel(random)],
      [2, (random) => this.#abort(random)],
      [3, (random) => this.consumers.open(random)],
      [4, (random) => this.consumers.read(random)],
      [2, (random) => this.consumers.returnOne(random)],
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
    const controller = random.chance(0.1) ? new AbortController() : undefined
    if (controller !== undefined) options.signal = controller.signal
    const taskName = name ?? (plan.kind === 'noop' ? (random.chance(0.8) ? 'quick' : 'mixed') : random.pick(['mixed', 'slow'] as const))
    const job = this.submitPlan(taskName, plan, options)
    if (controller !== undefined) this.#controllers.push({ controller, job })
  }

  submitPlan(name: TaskName, plan: Plan, options: RunOptions): JobHistory {
    const { pool, history, world, checker, config } = this.#simulation
    const queued = config.maxQueue === undefined ? 0 : pool.stats().queued
    const record = pool.submit(name, [plan], options) as unknown as JobRecord
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
    if (pending.length > 0) this.cancelJob(random.pick(pending))
  }

  cancelJob(job: JobHistory): void {
    const { history, world } = this.#simulation
    const record = job.record!
    const { state } = record
    world.trace(`job ${job.number} is cancelled`)
    job.cancelledAt = world.now
    const cancelled = record.cancel(new Error(`cancelled ${job.number}`))
    history.check(cancelled && record.isSettled, () => `promise 4: job ${job.number} was in state ${state}, and cancel() did not settle it at once`)
    if (state === 'queued' && record.attempt === 1)
      history.check(record.mayHaveBegun === false, () => `promise 1: job ${job.number} was waiting, but the pool reports that it may have begun`)
  }

  #abort(random: Random): void {
    const { world } = this.#simulation
    if (this.#controllers.length === 0) return
    const { controller, job } = random.pick(this.#controllers)
    job.cancelledAt ??= world.now
    controller.abort(new Error(`aborted ${job.number}`))
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
