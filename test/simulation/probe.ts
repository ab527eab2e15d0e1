import type { Hub } from '../../src/hub/index.js'
import type { Pool } from '../../src/pool/pool.js'
import type { RunOptions } from '../../src/pool/types.js'
import type { RunConfig } from './config.js'
import type { Plan, TaskName } from './plans.js'
import type { JobTruth, Truth } from './truth.js'

/** What a probe may do: as a user would. */
export interface Hands {
  readonly config: RunConfig
  readonly pool: Pool
  readonly hub: Hub
  readonly truth: Truth
  send(name: TaskName, plan: Omit<Plan, 'key'>, options: RunOptions): JobTruth
  cancel(job: JobTruth): void
  until(what: string, done: () => boolean, state: () => string): Promise<void>
}

/** So long that only its cancellation ends it: of a job, and of the limit of one. */
const FOREVER = 1_000_000
/** Of one worker, in the hub's books: results, lifeline and stderr; jobs and lifeline. */
const READERS = 3
const WRITERS = 2

/** Once nothing moves: is everything there that should be, and nothing else? */
export class Probe {
  readonly #hands: Hands

  constructor(hands: Hands) {
    this.#hands = hands
  }

  /** `least`: workers that there are at the least; `workers`: that take jobs once there are enough of them. */
  async run(least: number, workers: number): Promise<void> {
    const { truth, config } = this.#hands
    await this.#allUp(least)
    if (truth.violations.length > 0) return
    await this.#everySlot(workers * config.concurrency)
    if (truth.violations.length > 0) return
    await this.#nobodyWaitsBehind(workers * config.concurrency)
  }

  #states(): string {
    return JSON.stringify(this.#hands.pool.stats().workers.map(({ id, state }) => ({ id, state })))
  }

  async #allUp(least: number): Promise<void> {
    const { pool, hub, truth, until } = this.#hands
    await until(
      'every worker is up',
      () => pool.stats().workers.length >= least && pool.stats().workers.every(({ state }) => state === 'up'),
      () => this.#states(),
    )
    const count = pool.stats().workers.length
    const { readers, writers } = hub.registered()
    truth.demand(readers <= READERS * count && writers <= WRITERS * count, () => `${count} workers have ${readers} readers and ${writers} writers`)
  }

  /** Every slot of every worker is still there: as many jobs run at once as may. */
  async #everySlot(wanted: number): Promise<void> {
    const { config, truth, pool, hub, until } = this.#hands
    // Where workers are recycled after few jobs, not all slots are ever taken at once: there it is enough that all jobs are run.
    const recycled = config.maxJobsPerWorker !== undefined
    const timers = hub.registered().timers
    const probes: JobTruth[] = []
    while (probes.length < wanted) {
      if (pool.stats().queued >= (config.maxQueue ?? Number.POSITIVE_INFINITY))
        await until(
          'there is room for a probe',
          () => pool.stats().queued === 0,
          () => '',
        )
      if (truth.violations.length > 0) return
      probes.push(this.#sleep('probe', recycled ? 20 : FOREVER, { timeLimit: FOREVER }))
    }
    const through = (): number => probes.filter(({ running, settled }) => running !== undefined || (recycled && settled === 1)).length
    await until(
      recycled ? `${wanted} jobs are run` : `${wanted} jobs run at once`,
      () => through() === wanted,
      () => `${through()} do; ${this.#states()}`,
    )
    await this.#endAll(probes)
    if (!recycled)
      await until(
        'the limits of the probes are forgotten',
        () => hub.registered().timers <= timers,
        () => `${timers} timers before, ${hub.registered().timers} now`,
      )
  }

  /** Where jobs are taken back, those that are written ahead behind long ones run as soon as anybody has room. */
  async #nobodyWaitsBehind(slots: number): Promise<void> {
    const { config, until } = this.#hands
    const { dispatch, maxQueue, maxJobsPerWorker } = config
    if (slots < 2 || maxQueue !== undefined || maxJobsPerWorker !== undefined || (dispatch !== 'adaptive' && dispatch !== 'fair')) return
    // Mostly short: what is long among them was not to be foreseen.
    const short = (count: number): JobTruth[] => Array.from({ length: count }, () => this.#sleep('quick', 0, {}))
    await this.#ended(short(40))
    const before = short(2 * slots)
    const long = Array.from({ length: slots - 1 }, () => this.#sleep('quick', FOREVER, {}))
    const others = [...before, ...short(4 * slots)]
    await until(
      `${others.length} short jobs are run beside ${long.length} long ones`,
      () => others.every(({ settled }) => settled === 1),
      () => `${others.filter(({ settled }) => settled === 1).length} are; ${this.#states()}`,
    )
    await this.#endAll(long)
  }

  #sleep(name: TaskName, ms: number, options: RunOptions): JobTruth {
    const kind = ms === 0 ? 'noop' : 'sleep'
    return this.#hands.send(name, { kind, ms, count: 0, heeds: true, ballast: undefined }, options)
  }

  async #endAll(jobs: readonly JobTruth[]): Promise<void> {
    for (const job of jobs) if (!job.record!.isSettled) this.#hands.cancel(job)
    await this.#ended(jobs)
  }

  #ended(jobs: readonly JobTruth[]): Promise<void> {
    return this.#hands.until(
      'the probes have ended',
      () => jobs.every((job) => job.settled === 1 && job.running === undefined),
      () => jobs.map(({ number, record }) => `job ${number} is ${record!.state}`).join('; '),
    )
  }
}
