import type { Clock } from './clock.js'

/** What a reader needs of a stream: `net.Socket` has it, and so have the simulation's pipes. */
export interface HubReadable {
  on(event: 'data', listener: (chunk: Buffer) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  destroy(): unknown
}

/** Runs until it needs more bytes; `next(chunk)` resumes it with them. */
export type ReadGenerator = Generator<undefined, void, Buffer>

/**
 * Feeds a stream's bytes to a generator. After `stop`, or the stream's end, nothing that the stream emits reaches the
 * generator: a stale stream can neither spin the loop nor be mistaken for its successor.
 */
export class Reader {
  /** Bytes read so far. */
  bytes = 0
  /** When the last of them arrived, ms on the hub's clock: the clock is read once for each chunk. */
  at = 0
  /** No more bytes will come. */
  ended = false
  #running = false
  readonly #clock: Clock
  #generator: ReadGenerator
  #onEnd: (error?: Error) => void
  #onStop: () => void

  constructor(clock: Clock, stream: HubReadable, generator: ReadGenerator, onEnd: (error?: Error) => void, onStop: () => void) {
    this.#clock = clock
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
    this.#running = true
    try {
      this.#generator.next(chunk)
    } catch (error) {
      this.finish(error as Error)
    } finally {
      this.#running = false
    }
  }

  /** Ends the reader as the end of its stream does. */
  finish(error?: Error): void {
    if (this.ended) return
    this.ended = true
    this.#onStop()
    // Its `finally` may handle a rest, for example a last line without a newline.
    if (!this.#running) this.#generator.return()
    this.#onEnd(error)
  }
}
