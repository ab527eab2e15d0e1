import { type LimitStage, NO_STACK } from '../../wire/messages.js'
import { MAX_DELIVERY, type Recaller } from '../claim.js'
import { stackText } from './frames.js'
import type { Lifeline } from './lifeline.js'
import type { MainDebugger } from './main-debugger.js'
import type { MainThread } from './main-thread.js'
import type { SharedRecords } from './shared-records.js'

/** What the parts of the watchdog thread share. */
export class WatchdogContext {
  /** How long to wait for a stack, ms; three times as long still ends before the host's own deadline, one `cancelGrace` after the limit. */
  readonly #stackTimeout: number

  constructor(
    readonly records: SharedRecords,
    readonly main: MainThread,
    readonly mainDebugger: MainDebugger,
    readonly lifeline: Lifeline,
    readonly recaller: Recaller,
    readonly own: string,
    readonly cancelGrace: number,
  ) {
    this.#stackTimeout = Math.min(330, Math.max(50, cancelGrace / 3))
  }

  /** Calls `done` with the stack of the task that runs on the main thread, or NO_STACK. */
  stack(done: (text: string) => void): void {
    this.mainDebugger.inspect(
      this.#stackTimeout,
      () => false,
      (frames) => done(stackText(frames, this.own)),
    )
  }

  /** Asks the host to kill this worker. No job begins here after that. `lastStack` is used when no newer stack is available. */
  requestKill(stage: LimitStage, delivery: number, lastStack = NO_STACK): void {
    const lastClaimed = this.recaller.recall(MAX_DELIVERY)
    this.stack((text) => this.lifeline.limit(stage, delivery, lastClaimed, text === NO_STACK ? lastStack : text))
  }
}
