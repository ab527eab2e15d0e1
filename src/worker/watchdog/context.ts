import { type LimitStage, NO_STACK } from '../../wire/messages.js'
import { MAX_DELIVERY, type Recaller } from '../claim.js'
import { stackText } from './frames.js'
import type { Lifeline } from './lifeline.js'
import type { MainDebugger } from './main-debugger.js'
import type { MainThread } from './main-thread.js'
import type { SharedRecords } from './shared-records.js'

export interface WatchdogParts {
  records: SharedRecords
  main: MainThread
  debugger: MainDebugger
  lifeline: Lifeline
  recaller: Recaller
  own: string
  cancelGrace: number
}

/** What everything in the watchdog thread works with. */
export class WatchdogContext implements WatchdogParts {
  readonly records: SharedRecords
  readonly main: MainThread
  readonly debugger: MainDebugger
  readonly lifeline: Lifeline
  readonly recaller: Recaller
  readonly own: string
  readonly cancelGrace: number
  /** How long to wait for a stack; even three times as long ends before the host's own deadline, one `cancelGrace` after the limit. */
  readonly #stackWithin: number

  constructor(parts: WatchdogParts) {
    this.records = parts.records
    this.main = parts.main
    this.debugger = parts.debugger
    this.lifeline = parts.lifeline
    this.recaller = parts.recaller
    this.own = parts.own
    this.cancelGrace = parts.cancelGrace
    this.#stackWithin = Math.min(330, Math.max(50, parts.cancelGrace / 3))
  }

  stack(done: (text: string) => void): void {
    this.debugger.look(
      this.#stackWithin,
      () => false,
      (frames) => done(stackText(frames, this.own)),
    )
  }

  /** No job begins here any more; the host is told why, and which was the last that had been claimed. `stood`: the stack when no newer one can be had. */
  killProcess(stage: LimitStage, delivery: number, stood = NO_STACK): void {
    const lastClaimed = this.recaller.recall(MAX_DELIVERY)
    this.stack((text) => this.lifeline.limit(stage, delivery, lastClaimed, text === NO_STACK ? stood : text))
  }
}
