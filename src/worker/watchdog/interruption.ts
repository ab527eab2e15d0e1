import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { LimitStage, NO_STACK } from '../../wire/messages.js'
import type { WatchdogContext } from './context.js'
import { isSafePlace, stackText } from './frames.js'
import { Word } from './shared-records.js'

/** First delay between two attempts to interrupt, ms. It doubles after each. */
const FIRST_RETRY = 10
const WRITING_RETRY = 50
/** The longest: a grace may last for minutes. */
const MAX_RETRY_MS = 500

/**
 * Interrupts the synchronous code of one job that has been asked to stop (its soft limit passed, or it was cancelled) as soon as it can be interrupted safely.
 * If the main thread's event loop has not turned when its grace is over, asks the host to kill the worker.
 */
export class Interruption {
  readonly #context: WatchdogContext
  readonly #delivery: number
  readonly #cause: 'soft' | 'cancel'
  readonly #turn: number
  readonly #grace: number
  readonly #graceTimer: NodeJS.Timeout
  #retry = FIRST_RETRY
  #retryTimer: NodeJS.Timeout | undefined
  #over = false
  #begun = false
  /** The stack of the task at the last attempt. */
  #lastStack = NO_STACK

  /** `turn`: the message that asked the main thread to stop the job. `grace`: how long the job may take, ms. */
  constructor(context: WatchdogContext, delivery: number, cause: 'soft' | 'cancel', turn: number, grace: number) {
    this.#context = context
    this.#delivery = delivery
    this.#cause = cause
    this.#turn = turn
    this.#grace = grace
    this.#graceTimer = setTimeout(() => this.#graceOver(), grace)
    this.#attempt()
  }

  /** Whether nothing is left to do: the job has settled or was interrupted, or the main thread has handled the message. */
  #isOver(): boolean {
    const running = this.#context.records.slotOf(this.#delivery) >= 0
    this.#begun ||= running
    // A cancelled job that was claimed a moment ago may not have begun yet.
    this.#over ||= this.#context.main.hasTurned(this.#turn) || (this.#begun && !running)
    return this.#over
  }

  #attempt(): void {
    if (this.#isOver()) {
      clearTimeout(this.#graceTimer)
      return
    }
    if (!this.#canInterrupt()) {
      this.#attemptLater()
      return
    }
    const { mainDebugger, own, cancelGrace } = this.#context
    mainDebugger.inspect(
      // While a debugger is connected, awaits are slow.
      Math.min(this.#grace, cancelGrace),
      (frames) => !this.#isOver() && this.#canInterrupt() && isSafePlace(frames, own) && this.#markInterrupted(),
      (frames, terminated) => {
        if (frames !== undefined) this.#lastStack = stackText(frames, own)
        if (!terminated) {
          this.#attemptLater()
          return
        }
        this.#over = true
        clearTimeout(this.#graceTimer)
        // The call has unwound. The main thread may call code of this job again before it handles the message: it must not wait for a termination that is past.
        Atomics.store(this.#context.records.ints, Word.INTERRUPTED, 0)
        this.#context.main.interrupted(this.#delivery, this.#cause, this.#lastStack)
      },
    )
  }

  #canInterrupt(): boolean {
    const { ints } = this.#context.records
    return Atomics.load(ints, Word.SYNC) === this.#delivery && Atomics.load(ints, Word.WRITING) === 0
  }

  /** Called while the main thread is paused, so that the call is not interrupted twice and cannot return before the main thread sees the mark. */
  #markInterrupted(): true {
    const { ints } = this.#context.records
    Atomics.store(ints, Word.INTERRUPTED, this.#delivery)
    Atomics.store(ints, Word.SYNC, 0)
    return true
  }

  #attemptLater(): void {
    this.#retryTimer = setTimeout(() => this.#attempt(), this.#retry)
    this.#retry = Math.min(2 * this.#retry, MAX_RETRY_MS)
  }

  #graceOver(): void {
    clearTimeout(this.#retryTimer)
    if (this.#isOver() || !this.#begun) return
    if (Atomics.load(this.#context.records.ints, Word.WRITING) === 1) {
      // The main thread waits in a write because the host is not reading: the task is not the cause.
      setTimeout(() => this.#graceOver(), WRITING_RETRY)
      return
    }
    this.#over = true
    this.#context.requestKill(LimitStage.STUCK, this.#delivery, this.#lastStack)
  }
}
