import type { OutputStream } from '../cli-context.js'

interface Stream {
  isTTY?: boolean
  write(text: string): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** The process's stdout or stderr. A closed terminal, a reader that has exited or a full disk must not end a node that writes its log. */
export class ProcessStream implements OutputStream {
  readonly #stream: Stream
  #failure: Error | undefined
  #listener: ((error: Error) => void) | undefined

  constructor(stream: Stream) {
    this.#stream = stream
    stream.on('error', (error) => this.#failed(error))
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true
  }

  /** Drops what cannot be written. The next write is tried again: the disk may have space by then. */
  write(text: string): void {
    try {
      this.#stream.write(text)
    } catch (error) {
      this.#failed(error as Error)
    }
  }

  get failure(): Error | undefined {
    return this.#failure
  }

  onFailure(listener: (error: Error) => void): void {
    this.#listener = listener
    if (this.#failure !== undefined) listener(this.#failure)
  }

  #failed(error: Error): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#listener?.(error)
  }
}
