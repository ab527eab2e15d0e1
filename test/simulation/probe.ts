import type { Hub } from '../../src/hub/index.js'
import type { Pool } from '../../src/pool/pool.js'
import type { RunOptions } from '../../src/pool/types.js'
import type { RunConfig } from './config.js'
import type { History, JobHistory } from './history.js'
import type { Plan, TaskName } from './plans.js'

/** What a probe may use. */
export interface ProbeContext {
  readonly config: RunConfig
  readonly pool: Pool
  readonly hub: Hub
  readonly history: History
  send(name: TaskName, plan: Omit<Plan, 'key'>, options: RunOptions): JobHistory
  cancel(job: JobHistory): void
  /** Fails the run if `done` does not become true in time; `what` and `state` go into the message. */
  waitUntil(what: string, done: () => boolean, state: () => string): Promise<void>
}

/** Duration and time limit of a job that only its cancellation ends, ms. */
const FOREVER = 1_000_000
/** What the hub registers for one worker: readers of results, lifeline and stderr; writers of jobs and lifeline. */
const READERS_PER_WORKER = 3
const WRITERS_PER_WORKER = 2

/** Checks that the pool is complete after the faults: all workers are up, all slots run jobs, and no timer is left over. */
export class Probe {
  readonly #context: ProbeContext

  constructor(context: ProbeContext) {
    this.#context = context
  }

  /** `min`: the smallest number of workers that must be up; `workers`: how many must run jobs when there are enough jobs. */
  async run(min: number, workers: number): Promise<void> {
    const { history, config } = this.#context
    await this.#checkAllUp(min)
    if (history.violations.length > 0) return
    await this.#checkEverySlot(workers * config.concurrency)
    if (history.violations.length > 0) return
    await this.#checkShortBehindLong(workers * config.concurrency)
  }

  #states(): string {
    return JSON.stringify(this.#context.pool.stats().workers.map(({ id, state }) => ({ id, state })))
  }

  async #checkAllUp(min: number): Promise<void> {
    const { pool, hub, history, waitUntil } = this.#context
    await waitUntil(
      'every worker is up',
      () => pool.stats().workers.length >= min && pool.stats().workers.every(({ state }) => state === 'up'),
      () => this.#states(),
    )
    const count = pool.stats().workers.length
    const { readers, writers } = hub.registered()
    history.check(
      readers <= READERS_PER_WORKER * count && writers <= WRITERS_PER_WORKER * count,
      () => `${count} workers have ${readers} readers and ${writers} writers`,
    )
  }

  /** Every slot of every worker is usable: as many jobs run at once as there are slots. */
  async #checkEverySlot(wanted: number): Promise<void> {
    const { config, history, pool, hub, waitUntil } = this.#context
    // Workers that are recycled after a few jobs never fill all slots at once: then it is enough that every job runs.
    const recycled = config.maxJobsPerWorker !== undefined
    const timers = hub.registered().timers
    const probes: JobHistory[] = []
    while (probes.length < wanted) {
      if (pool.stats().queued >= (config.maxQueue ?? Number.POSITIVE_INFINITY))
        await waitUntil(
          'the queue accepts a probe',
          () => pool.stats().queued === 0,
          () => '',
        )
      if (history.violations.length > 0) return
      probes.push(this.#sleep('probe', recycled ? 20 : FOREVER, { timeLimit: FOREVER }))
    }
    const countRunning = (): number => probes.filter(({ running, settled }) => running !== undefined || (recycled && settled === 1)).length
    await waitUntil(
      recycled ? `${wanted} jobs are run` : `${wanted} jobs run at once`,
      () => countRunning() === wanted,
      () => `${countRunning()} do; ${this.#states()}`,
    )
    await this.#cancelAll(probes)
    if (!recycled)
      await waitUntil(
        'the timers of the probes are removed',
        () => hub.registered().timers <= timers,
        () => `${timers} timers before, ${hub.registered().timers} now`,
      )
  }

  /** With a dispatch that recalls jobs: short jobs that were sent behind long ones run as soon as another slot is free. */
  async #checkShortBehindLong(slots: number): Promise<void> {
    const { config, waitUntil } = this.#context
    const { dispatch, maxQueue, maxJobsPerWorker } = config
    if (slots < 2 || maxQueue !== undefined || maxJobsPerWorker !== undefined || (dispatch !== 'adaptive' && dispatch !== 'fair')) return
    // The pool expects short jobs of this task: it cannot predict the long ones.
    const short = (count: number): JobHistory[] => Array.from({ length: count }, () => this.#sleep('quick', 0, {}))
    await this.#waitForEnd(short(40))
    const before = short(2 * slots)
    const long = Array.from({ length: slots - 1 }, () => this.#sleep('quick', FOREVER, {}))
    const others = [...before, ...short(4 * slots)]
    await waitUntil(
      `${others.length} short jobs run beside ${long.length} long ones`,
      () => others.every(({ settled }) => settled === 1),
      () => `${others.filter(({ settled }) => settled === 1).length} have ended; ${this.#states()}`,
    )
    await this.#cancelAll(long)
  }

  #sleep(name: TaskName, ms: number, options: RunOptions): JobHistory {
    const kind = ms === 0 ? 'noop' : 'sleep'
    return this.#context.send(name, { kind, ms, count: 0, eager: true, padding: undefined }, options)
  }

  async #cancelAll(jobs: readonly JobHistory[]): Promise<void> {
    for (const job of jobs) if (!job.record!.isSettled) this.#context.cancel(job)
    await this.#waitForEnd(jobs)
  }

  #waitForEnd(jobs: readonly JobHistory[]): Promise<void> {
    return this.#context.waitUntil(
      'the probes have ended',
      () => jobs.every((job) => job.settled === 1 && job.running === undefined),
      () => jobs.map(({ number, record }) => `job ${number} is ${record!.state}`).join('; '),
    )
  }
}
