import type { Intake } from '../../runtime/admission/isolation.js'
import type { Delivery } from '../../runtime/delivery.js'
import type { Broker, Consumption } from '../broker.js'
import type { NodeSettings } from '../options.js'

/** Jobs that wait for a rate limit take up no room: as many other jobs may come. This bounds their number, in multiples of all that the node may hold. */
const MOST_WAITING = 9

/** Sets the prefetch of the node: how many unsettled deliveries it has room for. Those that can run, and those that it holds ahead. */
export class PrefetchControl {
  readonly #broker: Broker
  readonly #concurrency: number
  readonly #prefetchPerWorker: number
  #consumption: Consumption | undefined
  #receive: ((delivery: Delivery) => void) | undefined
  #giveBack: (queue: string) => void = () => {}
  /** Workers whose slots are included in the capacity. */
  #workers = 0
  /** Jobs held ahead for each slot of so many workers. */
  #ahead = 0
  #aheadWorkers = Number.POSITIVE_INFINITY
  /** Jobs that wait for a rate limit. */
  #waiting = 0
  /** Room for other jobs in place of the waiting ones: a power of two, so that it seldom changes. */
  #extra = 0
  /** The previous check already found fewer workers than `#workers`. */
  #fewerBefore = false
  #pausedByOperator = false
  /** Less than 'all' while jobs are to run alone. */
  #intake: Intake = 'all'
  /** The capacity that the consumption was given last. */
  #given = 0
  #givenSlots = 0
  /** The consumption is paused. */
  #paused = false
  /** The last pause, until it has taken effect. */
  #pausing: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(broker: Broker, { concurrency, prefetchPerWorker }: Pick<NodeSettings, 'concurrency' | 'prefetchPerWorker'>) {
    this.#broker = broker
    this.#concurrency = concurrency
    this.#prefetchPerWorker = prefetchPerWorker
  }

  /** Unsettled deliveries, at most. */
  get capacity(): number {
    if (this.#intake === 'one') return 1
    // `ahead` may be a fraction, which is a little less than what it stands for.
    const forWorker = Math.min(this.#prefetchPerWorker, Math.floor(this.#concurrency * (1 + this.#ahead) + 1e-6))
    const ahead = forWorker - this.#concurrency
    return this.#workers * this.#concurrency + Math.min(this.#workers, this.#aheadWorkers) * ahead + this.#extra
  }

  /** Those of them that can run at once. */
  get slots(): number {
    return this.#intake === 'one' ? 1 : this.#workers * this.#concurrency
  }

  /** `jobs`: held ahead for each slot of so many workers. */
  setAhead(jobs: number, workers = Number.POSITIVE_INFINITY): void {
    this.#ahead = jobs
    this.#aheadWorkers = workers
    this.#giveCapacity()
  }

  /** The capacity grows at once, and shrinks at the next `check`. */
  setWaiting(jobs: number): void {
    if (this.#broker.canRequeue === false) return
    this.#waiting = jobs
    if (this.#wantedExtra > this.#extra) this.#setExtra(this.#wantedExtra)
  }

  get #wantedExtra(): number {
    const most = MOST_WAITING * this.#workers * this.#prefetchPerWorker
    return this.#waiting === 0 ? 0 : Math.min(most, 2 ** Math.ceil(Math.log2(this.#waiting)))
  }

  #setExtra(extra: number): void {
    if (extra === this.#extra || this.#stopped) return
    this.#extra = extra
    this.#giveCapacity()
  }

  start(up: number, wanted: number, receive: (delivery: Delivery) => void, giveBack: (queue: string) => void): void {
    this.#receive = receive
    this.#giveBack = giveBack
    this.workersChanged(up, wanted)
  }

  /** More workers are up, or fewer are wanted. A worker that died stays included until the second `check`: its replacement is starting. */
  workersChanged(up: number, wanted: number): void {
    this.#setWorkers(Math.min(wanted, Math.max(up, this.#workers)))
  }

  /** Runs at each scaling interval. A worker that is missing in two checks in a row is no longer included. */
  check(up: number, wanted: number): void {
    const fewer = up < this.#workers
    this.#setWorkers(fewer && this.#fewerBefore ? Math.min(up, wanted) : Math.min(wanted, Math.max(up, this.#workers)))
    this.#fewerBefore = fewer
    this.#setExtra(this.#wantedExtra)
  }

  /** Takes no more jobs until `resume`. Held jobs can still be settled. */
  async pause(): Promise<void> {
    this.#pausedByOperator = true
    await this.#apply()
  }

  async resume(): Promise<void> {
    this.#pausedByOperator = false
    await this.#apply()
  }

  get intake(): Intake {
    return this.#intake
  }

  /** How many jobs may be taken. Resolves when that is so. */
  setIntake(intake: Intake): Promise<void> {
    this.#intake = intake
    if (intake !== 'none') this.#giveCapacity()
    return this.#apply()
  }

  /** A capacity of 0 is a pause: in AMQP, a prefetch of 0 means no limit. */
  #giveCapacity(): void {
    const { capacity, slots } = this
    if (this.#workers === 0 || this.#stopped || (capacity === this.#given && slots === this.#givenSlots)) return
    this.#given = capacity
    this.#givenSlots = slots
    this.#consumption?.setCapacity(capacity, slots)
  }

  /** Takes no more jobs, for good. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#consumption?.stop()
  }

  #setWorkers(workers: number): void {
    if (workers === this.#workers || this.#stopped) return
    this.#workers = workers
    if (this.#consumption === undefined && workers > 0 && this.#receive !== undefined) {
      this.#given = this.capacity
      this.#givenSlots = this.slots
      this.#consumption = this.#broker.consume(this.#given, this.#receive, this.#giveBack, this.#givenSlots)
      this.#apply().catch(() => {})
      return
    }
    this.#giveCapacity()
    // An error here is a lost consumer. The broker restores it in the state that was last asked for.
    this.#apply().catch(() => {})
  }

  async #apply(): Promise<void> {
    const pause = this.#pausedByOperator || this.#intake === 'none' || this.#workers === 0
    if (this.#stopped || this.#consumption === undefined) return
    if (pause !== this.#paused) {
      this.#paused = pause
      if (pause) this.#pausing = this.#consumption.pause()
      else this.#consumption.resume()
    }
    if (pause) await this.#pausing
  }
}
