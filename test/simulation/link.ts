import { Claimer, Recaller } from '../../src/worker/claim.js'
import type { WatchdogLink } from '../../src/worker/link.js'
import { type MainThread, UNWIND } from './main-thread.js'
import type { Watchdog } from './watchdog.js'

/** The link of the main thread to the simulated watchdog. The claim word between the two is the real one. */
export class SimLink implements WatchdogLink {
  readonly claimer: Claimer
  readonly recaller: Recaller
  watchdog: Watchdog | undefined
  readonly #main: MainThread
  readonly #slots: number[]

  constructor(main: MainThread, slots: number) {
    const word = new Int32Array(1)
    this.claimer = new Claimer(word, 0)
    this.recaller = new Recaller(word, 0)
    this.#main = main
    this.#slots = new Array<number>(slots).fill(0)
  }

  began(slot: number, delivery: number, softLimit: number, hardLimit: number): void {
    this.#slots[slot] = delivery
    this.#main.afterEffects(() => this.watchdog?.began(delivery, softLimit, hardLimit))
  }

  ended(slot: number): void {
    const delivery = this.#slots[slot]!
    this.#slots[slot] = 0
    this.#main.afterEffects(() => this.watchdog?.ended(delivery))
  }

  entering(): void {}

  left(): void {
    // A call that never ends does not return into the job loop.
    if (this.#main.unwinding) throw UNWIND
  }

  beforeWrite(): void {}
  afterWrite(): void {}

  wake(): void {
    this.#main.post(() => this.#main.loop?.onWake())
  }
}
