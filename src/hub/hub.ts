import { type Clock, type HostLife, systemClock } from './clock.js'
import { Reader, type ReadGenerator } from './reader.js'
import type { HubReadable, HubWritable } from './streams.js'
import { type Deadline, Timers } from './timers.js'
import { type WriteGenerator, Writer } from './writer.js'

/** A timer later than this was held up by the host itself, ms. */
const STALL_MS = 50
/** Whoever still speaks when he is to be judged is heard out: so often, and for so long each time, ms. */
const MAX_EXTENSIONS = 20
const EXTENSION_MS = 50
/** Rounds of reading that a judgement waits for at the most, so that a flood cannot put it off for ever. */
const MAX_READ_ROUNDS = 1_000

/** A judgement that is still to come. */
export interface PendingDeadline {
  cancel(): void
}

/**
 * The event loop's face: readers, writers, timers and ticks, in four plain words. It knows no message.
 *
 * A tick runs once the loop has polled: whatever arrived in one turn of the loop is handled in one go, and written in one go.
 */
export class Hub {
  readonly clock: Clock
  readonly #timers: Timers
  readonly #readers = new Set<Reader>()
  readonly #writers = new Set<Writer>()
  readonly #onTick: (() => void)[] = []
  #tickAsked = false
  #held = 0
  readonly #life: HostLife
  #closed = false

  constructor(clock: Clock = systemClock) {
    this.clock = clock
    this.#timers = new Timers(clock)
    this.#life = clock.hostLife()
  }

  /** ms on the monotonic clock. */
  now(): number {
    return this.clock.now()
  }

  /** `onEnd` is called once, when no more bytes can come: with the stream's error, or the generator's. */
  addReader(stream: HubReadable, generator: ReadGenerator, onEnd: (error?: Error) => void): Reader {
    const reader: Reader = new Reader(this.clock, stream, generator, onEnd, () => this.#readers.delete(reader))
    this.#readers.add(reader)
    return reader
  }

  /** `onEnd` is called once, when nothing can be written any more. */
  addWriter(stream: HubWritable, generator: WriteGenerator, onEnd: (error?: Error) => void): Writer {
    const writer: Writer = new Writer(stream, generator, onEnd, () => this.#writers.delete(writer))
    this.#writers.add(writer)
    return writer
  }

  /** Calls `fn` in each tick. */
  onTick(fn: () => void): void {
    this.#onTick.push(fn)
  }

  /** Asks for a tick. */
  wake(): void {
    if (this.#tickAsked || this.#closed) return
    this.#tickAsked = true
    this.clock.afterPoll(this.#tick)
  }

  readonly #tick = (): void => {
    this.#tickAsked = false
    if (this.#closed) return
    for (const fn of this.#onTick) fn()
  }

  /** Calls `fn` once, `ms` from now. */
  callLater(ms: number, fn: (late: number) => void): Deadline {
    return this.#timers.add(ms, fn)
  }

  cancel(deadline: Deadline | undefined): void {
    this.#timers.cancel(deadline)
  }

  /** Calls `fn` every `ms`, with how late the call is; returns the function that ends it. */
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
   * Read before you judge: `ms` from now, and after the loop has polled again until `readers` bring nothing more, calls
   * `condemn` unless `cancel` came first. What the host itself was late is added once to the time given.
   */
  deadlineAfterRead(ms: number, readers: () => readonly Reader[], condemn: () => void): PendingDeadline {
    let cancelled = false
    let deadline: Deadline | undefined
    let hearings = MAX_EXTENSIONS
    const due = (extended: boolean) => (late: number) => {
      const before = bytesOf(readers)
      this.#whenReadEmpty(readers, () => {
        if (cancelled || this.#closed) return
        if (late > STALL_MS && !extended) deadline = this.#timers.add(Math.min(late, ms), due(true))
        else if (bytesOf(readers) > before && hearings-- > 0) deadline = this.#timers.add(Math.min(EXTENSION_MS, ms), due(extended))
        else condemn()
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

  /** Calls `fn` once the loop has polled and brought nothing more from `readers`. */
  whenReadEmpty(readers: () => readonly Reader[], fn: () => void): void {
    this.#whenReadEmpty(readers, fn)
  }

  #whenReadEmpty(readers: () => readonly Reader[], fn: () => void): void {
    let seen = -1
    let rounds = 0
    const poll = (): void => {
      const bytes = bytesOf(readers)
      if (bytes === seen || ++rounds > MAX_READ_ROUNDS) {
        fn()
        return
      }
      seen = bytes
      this.clock.afterPoll(poll)
    }
    // Two polls at least: a timer runs before the poll of its own turn.
    this.clock.afterPoll(poll)
  }

  /** Keeps the process alive while there is something to wait for; counted. */
  hold(): void {
    if (this.#closed) return
    if (this.#held++ === 0) this.#life.keep()
  }

  release(): void {
    if (this.#held > 0 && --this.#held === 0) this.#life.letGo()
  }

  /** What is still in the hub's books; all zero after `close`. */
  registered(): { readers: number; writers: number; timers: number } {
    return { readers: this.#readers.size, writers: this.#writers.size, timers: this.#timers.size }
  }

  close(): void {
    this.#closed = true
    for (const reader of this.#readers) reader.stop()
    for (const writer of this.#writers) writer.stop()
    this.#timers.close()
    this.#life.end()
    this.#held = 0
  }
}

const bytesOf = (readers: () => readonly Reader[]): number => readers().reduce((sum, reader) => sum + reader.bytes, 0)
