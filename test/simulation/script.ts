import type { Hub } from '../../src/hub/index.js'
import type { Pool } from '../../src/pool/pool.js'
import { WorkerStartError } from '../../src/wire/errors.js'
import type { SimCalls } from './calls.js'
import type { PromiseChecker } from './checker.js'
import { Commands } from './commands.js'
import type { RunConfig } from './config.js'
import type { Faults } from './faults.js'
import type { Coverage, History } from './history.js'
import type { Host } from './host.js'
import { isEndless, LONGEST_PLAN, type Plan } from './plans.js'
import { Probe } from './probe.js'
import type { SimProcess } from './process.js'
import { Random } from './random.js'
import { settlePromises, type World } from './world.js'

/** The parts of one run. */
export interface Simulation {
  config: RunConfig
  world: World
  host: Host
  history: History
  checker: PromiseChecker
  faults: Faults
  processes: Map<number, SimProcess>
  pool: Pool
  hub: Hub
  coverage: Coverage
  calls: SimCalls
}

/** How long the pool may take to settle every job after the last fault and command, ms. */
const SETTLE_TIMEOUT = 400_000
/** ms */
const POLL_INTERVAL = 250
/** Two heartbeats have come, ms. */
const IDLE = 4_600

/** Runs longer than a retiring worker may take to exit. */
const LAST_PLAN: Omit<Plan, 'key'> = { kind: 'sleep', ms: 8_000, count: 0, eager: true, padding: undefined }

/** Executes the command that each number stands for. Afterwards it lets the pool settle, probes it and closes it. */
export class Script {
  readonly #simulation: Simulation
  readonly #commands: Commands

  constructor(simulation: Simulation) {
    this.#simulation = simulation
    this.#commands = new Commands(simulation)
  }

  /** Returns false if no worker could be started; the pool must then reject with WorkerStartError. */
  async start(): Promise<boolean> {
    const { pool, world, history } = this.#simulation
    let up: boolean | undefined
    pool.firstWorkerUp().then(
      () => {
        up = true
      },
      (error) => {
        up = false
        history.check(error instanceof WorkerStartError, () => `promise 8: firstWorkerUp() rejected with ${String(error)}`)
      },
    )
    for (let waited = 0; up === undefined && waited < SETTLE_TIMEOUT; waited += POLL_INTERVAL) await world.runUntil(world.now + POLL_INTERVAL)
    history.check(up !== undefined, () => 'promise 8: firstWorkerUp() did not settle')
    return up === true
  }

  async step(number: number): Promise<void> {
    const { world, host, history } = this.#simulation
    const random = new Random(number)
    const command = number === 0 ? this.#commands.wait(() => 1) : this.#commands.pick(random)
    if (host.stalledUntil > world.now) {
      // A stalled host cannot call the pool: the command runs at the end of the stall, before or after the next turn of the event loop.
      const until = host.stalledUntil - (random.chance(0.5) ? 0.001 : 0)
      await world.runUntil(until)
    }
    await command(random)
    await settlePromises()
    if (history.maxProcesses > this.#commands.maxWorkers + this.#simulation.config.spare + 1) this.#commands.updateBounds()
    this.#checkStats(history)
  }

  /** Ends all faults. Every job must then settle, and every worker must run jobs again. */
  async settle(): Promise<void> {
    const { world, faults, history, pool, checker, host, config, hub } = this.#simulation
    faults.stop()
    host.clockReadCost = 0
    await world.runUntil(Math.max(world.now, host.stalledUntil) + 1)
    this.#cancelEndless()
    this.#commands.consumers.finish()
    await this.#waitUntil(
      'every job and call has settled',
      () => this.#unsettled() === '' && this.#commands.calls.size === 0,
      () => `${this.#unsettled()} ${[...this.#commands.calls.keys()]}`,
    )
    if (history.violations.length > 0) return
    if (!checker.closeCalled) {
      await this.#replaceBlockedWorkers()
      // A heartbeat must first report the current memory of every worker, and two show that it is idle.
      await world.runUntil(world.now + IDLE)
      this.#checkSharedMemory()
      history.check(!host.isKeptAlive, () => 'promise 6: an idle pool keeps the host alive')
      const { queued, running } = pool.stats()
      history.check(queued === 0 && running === 0, () => `no job is pending, but stats() reports queued ${queued}, running ${running}`)
      const probe = new Probe({
        config,
        pool,
        hub,
        history,
        send: (name, plan, options) => this.#commands.submitPlan(name, { ...plan, key: this.#commands.nextKey() }, options),
        cancel: (job) => this.#commands.cancelJob(job),
        waitUntil: (what, done, state) => this.#waitUntil(what, done, state),
      })
      await probe.run(this.#minWorkers(), this.#probeWorkers())
      // close() must wait even for these jobs.
      for (let left = 2; left > 0; left--) this.#commands.submitPlan('slow', { ...LAST_PLAN, key: this.#commands.nextKey() }, {})
      await settlePromises()
    }
  }

  #checkSharedMemory(): void {
    const { processes, world, history } = this.#simulation
    for (const { id, alive, upAt, memory } of processes.values()) {
      if (!alive || memory === undefined || !(world.now - (upAt ?? world.now) > IDLE)) continue
      history.check(memory.places.empty, () => `memory: worker ${id} is idle, and a place of its results is in use`)
      history.check(!memory.isUsed, () => `memory: worker ${id} is idle, and the memory that it shares is not given back`)
    }
  }

  /**
   * A watchdog reports a main thread that is blocked while no job runs. Without one the pool would notice only by a job that the worker
   * does not accept, so the script kills such workers.
   */
  async #replaceBlockedWorkers(): Promise<void> {
    const { config, pool, processes, world } = this.#simulation
    // A job that was cancelled in flight may still begin, and block the thread afterwards.
    await this.#waitUntil(
      'no worker holds a job',
      () => pool.stats().workers.every(({ state }) => state !== 'busy'),
      () => JSON.stringify(pool.stats().workers.map(({ id, state }) => ({ id, state }))),
    )
    await world.runUntil(world.now + LONGEST_PLAN)
    const blocked = (): SimProcess[] => [...processes.values()].filter(({ alive, main }) => alive && main.detachedHangSince !== undefined)
    if (!config.watchdog) for (const process of blocked()) process.die({ exitCode: null, signal: 'SIGKILL' })
    await this.#waitUntil(
      'workers with a blocked main thread are replaced',
      () => blocked().length === 0,
      () =>
        blocked()
          .map(({ id }) => `worker ${id}`)
          .join(', '),
    )
  }

  async close(): Promise<void> {
    const { pool, checker, world, config, faults } = this.#simulation
    if (config.launcher === 'process' && world.random.chance(0.5)) {
      // The pool closes while a worker is handed over, and the launcher process may fail.
      faults.kill()
      await world.runUntil(world.now + world.random.next() * 100)
      if (world.random.chance(0.5)) faults.launcher(world.random)
    }
    if (!checker.closeCalled && world.random.chance(0.5)) this.#commands.terminate()
    else this.#commands.close()
    let closed = false
    void this.#commands.closing?.then(() => {
      closed = true
    })
    await this.#waitUntil(
      'the pool has closed',
      () => closed,
      () => JSON.stringify(pool.stats().workers.map(({ id, state }) => ({ id, state }))),
    )
    await world.runUntil(world.now + 1_000)
    this.#commands.consumers.checkAtEnd()
  }

  // ---- checks after every step

  #checkStats(history: History): void {
    const { host, checker, pool, world } = this.#simulation
    const pending = this.#commands.jobs.some(({ record }) => !record!.isSettled)
    if (pending && !checker.closeCalled) history.check(host.isKeptAlive, () => 'jobs are pending, but the pool does not keep the host alive')
    // stats() takes longer than a step.
    if (world.random.chance(0.9)) return
    const { queued, running } = pool.stats()
    const known = this.#commands.jobs.filter(({ record }) => !record!.isSettled)
    const waiting = known.filter(({ record }) => record!.state !== 'accepted').length
    history.check(queued >= waiting, () => `${waiting} jobs wait, but stats() reports ${queued}`)
    history.check(running >= known.length - waiting, () => `${known.length - waiting} jobs run, but stats() reports ${running}`)
  }

  // ---- settling

  /** Cancels the jobs that neither end by themselves nor have a limit. */
  #cancelEndless(): void {
    for (const job of this.#commands.jobs) {
      const { softLimit, hardLimit } = job.record!.spec
      if (!job.record!.isSettled && isEndless(job.plan!) && softLimit + hardLimit === 0) this.#commands.cancelJob(job)
    }
  }

  #unsettled(): string {
    const jobs = this.#commands.jobs.filter(({ settled }) => settled === 0)
    return [
      ...jobs.map(({ number, record, plan }) => `job ${number} (${plan!.kind}) is ${record!.state} in worker ${record!.holder}`),
      ...this.#commands.consumers.pending(),
    ].join('; ')
  }

  async #waitUntil(what: string, done: () => boolean, state: () => string): Promise<void> {
    const { world, history } = this.#simulation
    for (let waited = 0; waited < SETTLE_TIMEOUT; waited += POLL_INTERVAL) {
      if (done() || history.violations.length > 0) return
      await world.runUntil(world.now + POLL_INTERVAL)
    }
    history.addViolation(`promise 3: after ${SETTLE_TIMEOUT} ms this is not true: ${what}: ${state()}`)
  }

  /** The smallest number of workers of a settled pool. */
  #minWorkers(): number {
    const { config } = this.#simulation
    return (config.min === undefined ? this.#commands.maxWorkers : Math.min(config.min, this.#commands.maxWorkers)) + config.spare
  }

  /** How many workers a probe's jobs must reach. With a window the pool fills it before it grows: only the smallest number is certain. */
  #probeWorkers(): number {
    const { config } = this.#simulation
    const grows = config.min === undefined || config.dispatch === 'fair' || config.dispatch === 'adaptive'
    return grows ? this.#commands.maxWorkers : Math.max(1, Math.min(config.min ?? 1, this.#commands.maxWorkers))
  }
}
