import type { Clock } from './clock.js'

/** What a reader needs of a stream: `net.Socket` has it, and so have the simulation's pipes. */
export interface HubReadable {
  on(event: 'data', listener: (chunk: Buffer) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  pause(): unknown
  resume(): unknown
  destroy(): unknown
}

/**
 * Runs until it needs more bytes; `next(chunk)` resumes it with them. It yields true when its turn is over and it has bytes
 * left: it is then resumed with no bytes, in the next turn of the event loop.
 */
export type ReadGenerator = Generator<boolean | undefined, void, Buffer>

/** How long readers may handle what has arrived before the event loop goes on, ms: the host has other work. */
const TURN_MS = 2
/** Chunks that follow each other within this time count as one turn, ms. */
const SAME_TURN_MS = 0.1
/** The clock is read after this many parts. */
const CLOCK_EVERY = 16
const NO_BYTES = Buffer.alloc(0)

/** The time that the readers of a hub have in one turn of the event loop. */
export class ReadTurn {
  readonly #clock: Clock
  #end = Number.NEGATIVE_INFINITY
  #handledAt = Number.NEGATIVE_INFINITY
  #parts = 0
  /** How often a reader has begun to handle bytes. */
  reads = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A reader begins to handle bytes. */
  begin(now: number): void {
    this.reads++
    if (now - this.#handledAt > SAME_TURN_MS) this.#end = now + TURN_MS
    this.#parts = 0
  }

  /** The reader has handled its bytes, or goes on in the next turn. */
  pause(): void {
    this.#handledAt = this.#clock.now()
  }

  /** The event loop has turned. */
  renew(): void {
    this.#handledAt = Number.NEGATIVE_INFINITY
  }

  /** The next question is answered by the clock. */
  readonly costly = (): void => {
    this.#parts = CLOCK_EVERY - 1
  }

  /** Asked by a generator after each part, such as a frame: true if the time is over and it is to yield true. */
  readonly isOver = (): boolean => ++this.#parts % CLOCK_EVERY === 0 && this.#clock.now() >= this.#end
}

/**
 * Feeds a stream's bytes to a generator. After `stop`, or the stream's end, nothing that the stream emits reaches the
 * generator: a stale stream can neither spin the loop nor be mistaken for its successor.
 */
export class Reader {
  /** Bytes read so far. */
  bytes = 0
  /** Turns of the event loop in which it went on with what it had read before. */
  extraTurns = 0
  /** When the last bytes arrived, ms on the hub's clock. */
  at = 0
  /** No more bytes will come. */
  ended = false
  #running = false
  /** The generator has bytes left, and its stream is paused. */
  #hasRest = false
  /** Chunks that came although the stream is paused. */
  #waiting: Buffer[] = []
  readonly #clock: Clock
  readonly #turn: ReadTurn
  readonly #stream: HubReadable
  #generator: ReadGenerator
  #onEnd: (error?: Error) => void
  #onStop: () => void

  constructor(clock: Clock, turn: ReadTurn, stream: HubReadable, generator: ReadGenerator, onEnd: (error?: Error) => void, onStop: () => void) {
    this.#clock = clock
    this.#turn = turn
    this.#stream = stream
    this.#generator = generator
    this.#onEnd = onEnd
    this.#onStop = onStop
    generator.next()
    stream.on('data', (chunk) => this.#data(chunk))
    stream.on('end', () => this.finish())
    stream.on('close', () => this.finish())
    stream.on('error', (error) => this.finish(error))
  }

  stop(): void {
    if (this.ended) return
    this.ended = true
    this.#onStop()
  }

  #data(chunk: Buffer): void {
    if (this.ended) return
    this.bytes += chunk.length
    this.at = this.#clock.now()
    if (this.#hasRest) {
      // Node resumes the streams of a process that exits, also a paused one.
      this.#waiting.push(chunk)
      this.#stream.pause()
      return
    }
    this.#turn.begin(this.at)
    this.#advance(chunk)
    if (!this.#hasRest) return
    this.#stream.pause()
    this.#clock.afterPoll(this.#handleRest)
  }

  readonly #handleRest = (): void => {
    if (this.ended) return
    this.extraTurns++
    this.#turn.renew()
    this.#turn.begin(this.#clock.now())
    this.#advance(NO_BYTES)
    if (this.#hasRest) this.#clock.afterPoll(this.#handleRest)
    else if (!this.ended) this.#stream.resume()
  }

  /** Handles these bytes and the waiting chunks until the turn is over. */
  #advance(bytes: Buffer): void {
    const error = this.#handle(bytes)
    this.#turn.pause()
    if (error !== undefined) this.finish(error)
  }

  /** Returns the generator's error. Leaves unhandled bytes only if the stream has not ended. */
  #handle(bytes: Buffer): Error | undefined {
    this.#running = true
    try {
      let next: Buffer | undefined = bytes
      while (next !== undefined) {
        this.#hasRest = this.#generator.next(next).value === true
        if (this.#hasRest && !this.ended) return undefined
        next = this.#hasRest ? NO_BYTES : this.#waiting.shift()
      }
      return undefined
    } catch (error) {
      this.#hasRest = false
      this.#waiting = []
      return error as Error
    } finally {
      this.#running = false
    }
  }

  /** Ends the reader as the end of its stream does. */
  finish(error?: Error): void {
    if (this.ended) return
    this.ended = true
    this.#onStop()
    let failure: Error | undefined
    if (!this.#running) {
      if (this.#hasRest) failure = this.#handle(NO_BYTES)
      // Its `finally` may handle a rest, for example a last line without a newline.
      this.#generator.return()
    }
    this.#onEnd(error ?? failure)
  }
}
