import type { Lifeline } from './lifeline.js'
import type { MainThread } from './main-thread.js'
import { monotonic, type SharedRecords, Time } from './shared-records.js'

/** The main thread gets this long to turn to a ping before the beat says how long it has not. */
const TURN_WAIT = 20

/** Tells the host at each interval that this process lives, how large it is, what it runs, and whether its main thread turns. */
export class Heartbeat {
  readonly #lifeline: Lifeline
  readonly #main: MainThread
  readonly #records: SharedRecords

  constructor(lifeline: Lifeline, main: MainThread, records: SharedRecords) {
    this.#lifeline = lifeline
    this.#main = main
    this.#records = records
  }

  start(interval: number): void {
    this.#send(0)
    setInterval(() => this.beat(), interval)
  }

  beat(): void {
    const turn = this.#main.ping()
    setTimeout(() => this.#send(this.#main.hasTurned(turn) ? 0 : monotonic() - this.#records.times[Time.TURNED_AT]!), TURN_WAIT)
  }

  #send(turnAge: number): void {
    this.#lifeline.heartbeat(process.memoryUsage.rss(), turnAge, this.#records.oldestDelivery())
  }
}
