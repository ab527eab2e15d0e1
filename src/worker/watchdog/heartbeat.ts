import type { Lifeline } from './lifeline.js'
import type { MainThread } from './main-thread.js'
import { monotonic, type SharedRecords, Time } from './shared-records.js'

/** How long the main thread's event loop may take to turn to a ping, ms, before the heartbeat reports the age of its last turn. */
const TURN_WAIT = 20

/**
 * ms until a worker's next heartbeat. The workers of one host send theirs together, so that it wakes once for all of them;
 * the workers of different hosts do not. A timer that fires early causes no second heartbeat.
 */
export const untilBeat = (now: number, interval: number, host: number): number => {
  const left = interval - ((now + host * 37) % interval)
  return left < interval / 8 ? left + interval : left
}

/** Sends a HEARTBEAT at each interval: resident memory, the oldest running job, and whether the main thread's event loop turns. */
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
    // One has just been sent, so the next need not come before an interval has passed.
    const first = untilBeat(monotonic(), interval, process.ppid)
    this.#beatIn(first > interval ? first - interval : first, interval)
  }

  #beatIn(ms: number, interval: number): void {
    setTimeout(() => {
      this.#beat()
      this.#beatIn(untilBeat(monotonic(), interval, process.ppid), interval)
    }, ms)
  }

  #beat(): void {
    const turn = this.#main.ping()
    setTimeout(() => this.#send(this.#main.hasTurned(turn) ? 0 : monotonic() - this.#records.times[Time.TURNED_AT]!), TURN_WAIT)
  }

  #send(turnAge: number): void {
    this.#lifeline.heartbeat(process.memoryUsage.rss(), turnAge, this.#records.oldestDelivery())
  }
}
