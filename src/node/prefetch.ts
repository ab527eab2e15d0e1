import type { Delivery } from '../runtime/delivery.js'
import type { Broker, Consumption } from './broker.js'

/** How many deliveries the node holds at the most: as many as its workers have room for. */
export class Prefetch {
  readonly #broker: Broker
  readonly #prefetchPerWorker: number
  #consumption: Consumption | undefined
  #receive: ((delivery: Delivery) => void) | undefined
  /** Workers that are counted on. */
  #workers = 0
  /** Fewer workers were up in the last round already. */
  #fewer = false
  /** The operator wants no more jobs for now. */
  #held = false
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
    this.grown(up, wanted)
  }

  /** More workers are up, or fewer wanted. A worker that died is counted on for a while: its successor is on its way. */
  grown(up: number, wanted: number): void {
    this.#set(Math.min(wanted, Math.max(up, this.#workers)))
  }

  /** Once a round: what has been missing for two of them is not counted on any more. */
  round(up: number, wanted: number): void {
    const fewer = up < this.#workers
    this.#set(fewer && this.#fewer ? Math.min(up, wanted) : Math.min(wanted, Math.max(up, this.#workers)))
    this.#fewer = fewer
  }

  /** No more jobs until `resume`; those held can be settled. */
  async pause(): Promise<void> {
    this.#held = true
    await this.#apply()
  }

  async resume(): Promise<void> {
    this.#held = false
    await this.#apply()
  }

  /** For good. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#consumption?.stop()
  }

  #set(workers: number): void {
    if (workers === this.#workers || this.#stopped) return
    this.#workers = workers
    if (this.#consumption === undefined && workers > 0 && this.#receive !== undefined) {
      this.#consumption = this.#broker.consume(this.capacity, this.#receive)
      if (this.#held) this.#apply().catch(() => {})
      return
    }
    // A capacity of none is a pause: to AMQP, a prefetch of 0 is none at all.
    if (workers > 0) this.#consumption?.setCapacity(this.capacity)
    // A consumer that is lost while it is paused or resumed comes back as it was last asked to be.
    this.#apply().catch(() => {})
  }

  async #apply(): Promise<void> {
    const pause = this.#held || this.#workers === 0
    if (this.#stopped || this.#consumption === undefined || pause === this.#paused) return
    this.#paused = pause
    if (pause) await this.#consumption.pause()
    else this.#consumption.resume()
  }
}
