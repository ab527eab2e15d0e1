import { performance } from 'node:perf_hooks'
import { withTimeout } from '../util/with-timeout.js'
import { CommandError, EXIT } from './exit.js'

/** ms to connect to the broker, at most. */
export const CONNECT_TIMEOUT = 10_000
/** ms for the close of a connection whose command has no time left. */
const CLOSE_TIMEOUT = 500

/** The time limit of a command, from the first connection to the last close. */
export class CommandTimeout {
  /** ms. */
  readonly total: number
  readonly #end: number

  constructor(total: number) {
    this.total = total
    this.#end = performance.now() + total
  }

  /** ms; at least 1, since an option of the library refuses 0. */
  get left(): number {
    return Math.max(1, Math.ceil(this.#end - performance.now()))
  }

  /** ms to connect to the broker. */
  get connectTimeout(): number {
    return Math.min(this.total, CONNECT_TIMEOUT)
  }

  /** The whole time in seconds, for a message. */
  get shown(): string {
    return `${this.total / 1_000} s`
  }

  /** Settles like `promise`; rejects with `message` and exit code 4 when the time is over before. */
  bound<T>(promise: Promise<T>, message: string): Promise<T> {
    return withTimeout(promise, this.left, (): T => {
      throw new CommandError(message, EXIT.broker)
    })
  }

  /** Waits for a close for the time left, or a moment if that is longer. The process ends afterwards, whether it has closed or not. */
  async closing(close: Promise<unknown>): Promise<void> {
    await withTimeout(close, Math.max(CLOSE_TIMEOUT, this.left), () => {})
  }
}
