import type { Delivery } from '../runtime/delivery.js'
import type { Broker, Consumption } from './broker.js'

/** Sets the prefetch of the node: how many unsettled deliveries its workers have room for. */
export class PrefetchControl {
  readonly #broker: Broker
  readonly #prefetchPerWorker: number
  #consumption: Consumption | undefined
  #receive: ((delivery: Delivery) => void) | undefined
  /** Workers whose prefetch is included in the capacity. */
  #workers = 0
  /** The previous check already found fewer workers than that. */
  #fewerBefore = false
  #pausedByOperator = false
  /** The consumption is paused. */
  #paused = false
  #stopped = false

  constructor(broker: Broker, prefetchPerWorker: number) {
    this.#broker = broker
    this.#prefetchPerWorker = prefetchPerWorker
  }

  get capacity(): number {
    return this.#workers * this.#prefetchPerWorker
  }

  start(up: number, wanted: number, receive: (delivery: Delivery) => void): void {
    this.#receive = receive
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
  }

  /** Takes no more jobs until `resume`. Those held can still be settled. */
  async pause(): Promise<void> {
    this.#pausedByOperator = true
    await this.#apply()
  }

  async resume(): Promise<void> {
    this.#pausedByOperator = false
    await this.#apply()
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
      this.#consumption = this.#broker.consume(this.capacity, this.#receive)
      if (this.#pausedByOperator) this.#apply().catch(() => {})
      return
    }
    // A capacity of 0 is a pause: in AMQP, a prefetch of 0 means no limit.
    if (workers > 0) this.#consumption?.setCapacity(this.capacity)
    // An error here is a lost consumer. The broker restores it in the state that was last asked for.
    this.#apply().catch(() => {})
  }

  async #apply(): Promise<void> {
    const pause = this.#pausedByOperator || this.#workers === 0
    if (this.#stopped || this.#consumption === undefined || pause === this.#paused) return
    this.#paused = pause
    if (pause) await this.#consumption.pause()
    else this.#consumption.resume()
  }
}
