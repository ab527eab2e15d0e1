import type { Lifeline } from './lifeline.js'
import type { MainThread } from './main-thread.js'
import { monotonic, type SharedRecords, Time } from './shared-records.js'

/** The main thread gets this long to turn to a ping before the beat says how long it has not. */
const TURN_WAIT = 20

/**
 * ms until the next beat of a worker: those of one host beat together, so that it wakes once for all of them, and those of
 * different hosts apart. A timer that fired early does not beat twice.
 */
export const untilBeat = (now: number, interval: number, host: number): number => {
  const left = interval - ((now + host * 37) % interval)
  return left < interval / 8 ? left + interval : left
}

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
    // One has just been sent, so the next may come as early as it likes.
    const first = untilBeat(monotonic(), interval, process.ppid)
    this.#beatIn(first > interval ? first - interval : first, interval)
  }

  #beatIn(ms: number, interval: number): void {
    setTimeout(() => {
      this.beat()
      this.#beatIn(untilBeat(monotonic(), interval, process.ppid), interval)
    }, ms)
  }

  beat(): void {
    const turn = this.#main.ping()
    setTimeout(() => this.#send(this.#main.hasTurned(turn) ? 0 : monotonic() - this.#records.times[Time.TURNED_AT]!), TURN_WAIT)
  }

  #send(turnAge: number): void {
    this.#lifeline.heartbeat(process.memoryUsage.rss(), turnAge, this.#records.oldestDelivery())
  }
}
