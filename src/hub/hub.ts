import { type Clock, type KeepAlive, systemClock } from './clock.js'
import { type HubReadable, Reader, type ReadGenerator, ReadTurn } from './reader.js'
import { type Deadline, Timers } from './timers.js'
import { type HubWritable, type WriteGenerator, Writer } from './writer.js'

/** A timer that fires later than this, in ms, was delayed by the host itself: its event loop stalled. */
const STALL_MS = 50
/** A deadline is extended while bytes still arrive: at most so often, and by so many ms each time. */
const MAX_EXTENSIONS = 20
const EXTENSION_MS = 50
/** At most so many polls before a deadline passes, so that a flood of bytes cannot delay it for ever. */
const MAX_READ_ROUNDS = 1_000

export interface PendingDeadline {
  cancel(): void
}

/**
 * Readers, writers, timers and ticks on the event loop. It knows nothing of messages.
 *
 * A tick runs after the loop has polled: all that arrived in one turn of the loop is handled, and written, together.
 */
export class Hub {
  readonly clock: Clock
  readonly #turn: ReadTurn
  readonly #timers: Timers
  readonly #readers = new Set<Reader>()
  readonly #writers = new Set<Writer>()
  readonly #onTick: (() => void)[] = []
  #tickPending = false
  /** `ReadTurn.reads` at the last `wakeSoon`; -1 once the loop has polled. */
  #soonAt = -1
  #held = 0
  readonly #keepAlive: KeepAlive
  #closed = false

  constructor(clock: Clock = systemClock) {
    this.clock = clock
    this.#turn = new ReadTurn(clock)
    this.#timers = new Timers(clock)
    this.#keepAlive = clock.keepAlive()
  }

  /** ms on the monotonic clock. */
  now(): number {
    return this.clock.now()
  }

  /** For the generators of readers, which ask it after each part: true if the turn's time is over and they are to yield true. */
  get isTurnOver(): () => boolean {
    return this.#turn.isOver
  }

  /** For the generators of readers: the part that was handled took longer than others do. */
  get costly(): () => void {
    return this.#turn.costly
  }

  /** `onEnd` is called once, when no more bytes can come; with the error of the stream or of the generator, if there was one. */
  addReader(stream: HubReadable, generator: ReadGenerator, onEnd: (error?: Error) => void): Reader {
    const reader: Reader = new Reader(this.clock, this.#turn, stream, generator, onEnd, () => this.#readers.delete(reader))
    this.#readers.add(reader)
    return reader
  }

  /** `onEnd` is called once, when nothing can be written any more. */
  addWriter(stream: HubWritable, generator: WriteGenerator, onEnd: (error?: Error) => void): Writer {
    const writer: Writer = new Writer(stream, generator, onEnd, () => this.#writers.delete(writer))
    this.#writers.add(writer)
    return writer
  }

  onTick(fn: () => void): void {
    this.#onTick.push(fn)
  }

  /** Asks for a tick. */
  wake(): void {
    if (this.#tickPending || this.#closed) return
    this.#tickPending = true
    this.clock.afterPoll(this.#tickAfterPoll)
  }

  /**
   * Asks for a tick before the next poll, right after the code that runs now: for work that nothing can be gathered with. Until bytes have
   * arrived or the loop has polled, the next call is a `wake()`: whoever calls again whenever a tick has failed must not keep the loop from turning.
   */
  wakeSoon(): void {
    if (this.#soonAt === this.#turn.reads) {
      this.wake()
      return
    }
    if (this.#tickPending || this.#closed) return
    this.#soonAt = this.#turn.reads
    this.#tickPending = true
    this.clock.afterCode(this.#tick)
  }

  readonly #tickAfterPoll = (): void => {
    this.#soonAt = -1
    this.#turn.renew()
    this.#tick()
  }

  readonly #tick = (): void => {
    this.#tickPending = false
    if (this.#closed) return
    for (const fn of this.#onTick) fn()
  }

  /** Calls `fn` once, `ms` from now, with how late the call is, in ms. */
  callLater(ms: number, fn: (late: number) => void): Deadline {
    return this.#timers.add(ms, fn)
  }

  cancel(deadline: Deadline | undefined): void {
    this.#timers.cancel(deadline)
  }

  /** Calls `fn` every `ms`, with how late the call is, in ms. Returns the function that stops it. */
  callRepeatedly(ms: number, fn: (late: number) => void): () => void {
    let stopped = false
    let deadline: Deadline
    const again = (late: number): void => {
      fn(late)
      if (!stopped) deadline = this.#timers.add(ms, again)
    }
    deadline = this.#timers.add(ms, again)
    return () => {
      stopped = true
      this.#timers.cancel(deadline)
    }
  }

  /**
   * Calls `onPassed` when a deadline `ms` from now has passed, unless it is cancelled. It is checked again after `readers`
   * have read all that the kernel holds. While bytes arrive or are still handled it is extended, at most MAX_EXTENSIONS times. If the
   * host's own event loop stalled, it is extended once, by the length of the stall and at most by `ms`.
   */
  deadlineAfterRead(ms: number, readers: () => readonly Reader[], onPassed: () => void): PendingDeadline {
    let cancelled = false
    let deadline: Deadline | undefined
    let extensions = MAX_EXTENSIONS
    const due = (stallAdded: boolean) => (late: number) => {
      const before = progressOf(readers)
      this.whenReadEmpty(readers, () => {
        if (cancelled || this.#closed) return
        if (late > STALL_MS && !stallAdded) deadline = this.#timers.add(Math.min(late, ms), due(true))
        else if (progressOf(readers) > before && extensions-- > 0) deadline = this.#timers.add(Math.min(EXTENSION_MS, ms), due(stallAdded))
        else onPassed()
      })
    }
    deadline = this.#timers.add(ms, due(false))
    return {
      cancel: () => {
        cancelled = true
        this.#timers.cancel(deadline)
      },
    }
  }

  /** Calls `fn` after a poll of the loop in which `readers` read nothing more. */
  whenReadEmpty(readers: () => readonly Reader[], fn: () => void): void {
    let seen = -1
    let rounds = 0
    const poll = (): void => {
      const progress = progressOf(readers)
      if (progress === seen || ++rounds > MAX_READ_ROUNDS) {
        fn()
        return
      }
      seen = progress
      this.clock.afterPoll(poll)
    }
    // Two polls at least: a timer runs before the poll of its own turn.
    this.clock.afterPoll(poll)
  }

  /** Keeps the process alive until each `hold` has been followed by a `release`. */
  hold(): void {
    if (this.#closed) return
    if (this.#held++ === 0) this.#keepAlive.hold()
  }

  release(): void {
    if (this.#held > 0 && --this.#held === 0) this.#keepAlive.release()
  }

  /** How much is registered; all zero after `close`. @internal For tests. */
  registered(): { readers: number; writers: number; timers: number } {
    return { readers: this.#readers.size, writers: this.#writers.size, timers: this.#timers.size }
  }

  close(): void {
    this.#closed = true
    for (const reader of this.#readers) reader.stop()
    for (const writer of this.#writers) writer.stop()
    this.#timers.close()
    this.#keepAlive.close()
    this.#held = 0
  }
}

const progressOf = (readers: () => readonly Reader[]): number => readers().reduce((sum, { bytes, extraTurns }) => sum + bytes + extraTurns, 0)
