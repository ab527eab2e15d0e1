import type { Output } from '../cli-context.js'

interface Stream {
  isTTY?: boolean
  write(text: string): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** Where the process writes. A terminal that was closed, a reader that has gone, a disk that is full: nobody who writes is ended by it. */
export class OutputStream implements Output {
  readonly #stream: Stream
  #failure: Error | undefined
  #told: ((error: Error) => void) | undefined

  constructor(stream: Stream) {
    this.#stream = stream
    stream.on('error', (error) => this.#failed(error))
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true
  }

  /** What cannot be written is dropped. The next is tried again: a disk may have room by then. */
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

  onFailure(told: (error: Error) => void): void {
    this.#told = told
    if (this.#failure !== undefined) told(this.#failure)
  }

  #failed(error: Error): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#told?.(error)
  }
}
