/** What a writer needs of a stream: `net.Socket` has it, and so have the simulation's pipes. */
export interface HubWritable {
  write(bytes: Uint8Array): boolean
  cork(): void
  uncork(): void
  /** Bytes taken by `write` that are not yet in the kernel. */
  readonly writableLength: number
  on(event: 'drain' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  destroy(): unknown
}

/** Writes until it yields: 'full' (`write()` returned false; resumed by the drain event) or 'idle' (resumed by `wake`). */
export type WriteGenerator = Generator<'full' | 'idle', void, undefined>

export class Writer {
  /** Nothing can be written any more. */
  ended = false
  #full = false
  #running = false
  readonly #stream: HubWritable
  readonly #generator: WriteGenerator
  readonly #onEnd: (error?: Error) => void
  readonly #onStop: () => void

  constructor(stream: HubWritable, generator: WriteGenerator, onEnd: (error?: Error) => void, onStop: () => void) {
    this.#stream = stream
    this.#generator = generator
    this.#onEnd = onEnd
    this.#onStop = onStop
    stream.on('drain', () => {
      this.#full = false
      this.#run()
    })
    stream.on('close', () => this.#end())
    stream.on('error', (error) => this.#end(error))
  }

  /** The buffers of the kernel and of the stream are full: what is added now waits for the drain event. */
  get full(): boolean {
    return this.#full
  }

  /** Bytes in the stream's buffer, which the kernel has not taken. */
  get pending(): number {
    return this.#stream.writableLength
  }

  /** There is something to write. */
  wake(): void {
    if (!this.#full) this.#run()
  }

  stop(): void {
    if (this.ended) return
    this.ended = true
    this.#onStop()
  }

  #run(): void {
    // A value that is encoded in there may run code of the application, which may write: the generator goes on with that, too.
    if (this.ended || this.#running) return
    this.#running = true
    try {
      const step = this.#generator.next()
      this.#full = step.value === 'full'
    } catch (error) {
      this.#end(error as Error)
    } finally {
      this.#running = false
    }
  }

  #end(error?: Error): void {
    if (this.ended) return
    this.ended = true
    this.#onStop()
    this.#onEnd(error)
  }
}
