import { LimitStage, NO_STACK } from '../../wire/messages.js'
import type { WatchdogContext } from './context.js'
import { isSafePlace, stackText } from './frames.js'
import { Word } from './shared-records.js'

/** Between two attempts to interrupt, in ms; twice as long after each. */
const FIRST_RETRY = 10
const WRITING_RETRY = 50

/**
 * Follows one job that has been asked to stop (its soft limit passed, or it was cancelled) for `cancelGrace`: interrupts
 * its synchronous code as soon as it stands in a safe place, and tells the host when the main thread has not turned at all.
 */
export class Interruption {
  readonly #watch: WatchdogContext
  readonly #delivery: number
  readonly #cause: 'soft' | 'cancel'
  readonly #turn: number
  #retry = FIRST_RETRY
  #retryTimer: NodeJS.Timeout | undefined
  #over = false
  #begun = false
  /** Where the task stood when it was last looked at. */
  #stood = NO_STACK

  /** `turn`: the message with which the main thread was told. */
  constructor(watch: WatchdogContext, delivery: number, cause: 'soft' | 'cancel', turn: number) {
    this.#watch = watch
    this.#delivery = delivery
    this.#cause = cause
    this.#turn = turn
    setTimeout(() => this.#graceIsOver(), watch.cancelGrace)
    this.#attempt()
  }

  /** Nothing is left to do: the job has settled, was interrupted, or the main thread has turned and knows. */
  #isOver(): boolean {
    const running = this.#watch.records.slotOf(this.#delivery) >= 0
    this.#begun ||= running
    // Claimed a moment ago, a job that is cancelled may be just about to begin.
    this.#over ||= this.#watch.main.hasTurned(this.#turn) || (this.#begun && !running)
    return this.#over
  }

  #attempt(): void {
    if (this.#isOver()) return
    if (!this.#canInterrupt()) {
      this.#attemptLater()
      return
    }
    const { debugger: main, own, cancelGrace } = this.#watch
    main.look(
      cancelGrace,
      (frames) => !this.#isOver() && this.#canInterrupt() && isSafePlace(frames, own) && this.#markInterrupted(),
      (frames, terminated) => {
        if (frames !== undefined) this.#stood = stackText(frames, own)
        if (!terminated) {
          this.#attemptLater()
          return
        }
        this.#over = true
        this.#watch.main.interrupted(this.#delivery, this.#cause, this.#stood)
      },
    )
  }

  #canInterrupt(): boolean {
    const { words } = this.#watch.records
    return Atomics.load(words, Word.SYNC) === this.#delivery && Atomics.load(words, Word.WRITING) === 0
  }

  /** While the main thread is still paused: it must not be found in this call again, nor leave it as if nothing had happened. */
  #markInterrupted(): true {
    const { words } = this.#watch.records
    Atomics.store(words, Word.INTERRUPTED, this.#delivery)
    Atomics.store(words, Word.SYNC, 0)
    return true
  }

  #attemptLater(): void {
    this.#retryTimer = setTimeout(() => this.#attempt(), this.#retry)
    this.#retry *= 2
  }

  #graceIsOver(): void {
    clearTimeout(this.#retryTimer)
    if (this.#isOver() || !this.#begun) return
    if (Atomics.load(this.#watch.records.words, Word.WRITING) === 1) {
      // Not the task's fault: the host is not reading.
      setTimeout(() => this.#graceIsOver(), WRITING_RETRY)
      return
    }
    this.#over = true
    this.#watch.killProcess(LimitStage.STUCK, this.#delivery, this.#stood)
  }
}
