import { overText } from '../../util/shown-text.js'
import { type Encoded, encode } from '../../wire/codec/index.js'
import { SerializationError } from '../../wire/errors.js'
import { FRAME_HEAD } from '../../wire/frame.js'

/** ms between two progress frames of one job. */
export const PROGRESS_INTERVAL = 50

export interface ProgressPort {
  now(): number
  /** Calls back after `ms`; need not keep the process alive. */
  later(ms: number, fn: () => void): void
  send(encoded: Encoded): void
  readonly maxMessageSize: number
}

/** Limits the progress frames of one job: the first value is sent at once, later ones at most every 50 ms, the last always. */
export class ProgressThrottle {
  readonly #port: ProgressPort
  #lastSent = Number.NEGATIVE_INFINITY
  /** Encoded at the call, as every value is: what the task changes afterwards has no effect. */
  #pending: Encoded | undefined
  #timer = false

  constructor(port: ProgressPort) {
    this.#port = port
  }

  report(value: unknown): void {
    const encoded = this.#encoded(value)
    const { maxMessageSize } = this.#port
    if (encoded.size > maxMessageSize) throw new SerializationError(`A progress value has ${overText(encoded.size, 'maxMessageSize', maxMessageSize)}.`)
    const wait = this.#lastSent + PROGRESS_INTERVAL - this.#port.now()
    if (wait <= 0) {
      this.#pending = undefined
      this.#send(encoded)
      return
    }
    this.#pending = encoded
    if (this.#timer) return
    this.#timer = true
    this.#port.later(wait, () => {
      this.#timer = false
      this.flush()
    })
  }

  #encoded(value: unknown): Encoded {
    try {
      return encode(value, FRAME_HEAD, { copyBinaries: true, root: 'progress' })
    } catch (cause) {
      const why = (cause as Error).message.replace(/\.$/, '')
      throw new SerializationError(`currentJob().progress() takes data, such as 0.5 or { done: 5, of: 10 }, and cannot send this value: ${why}.`, { cause })
    }
  }

  /** Sends the value that waits: in front of the result, or when the interval is over. */
  flush(): void {
    const pending = this.#pending
    if (pending === undefined) return
    this.#pending = undefined
    this.#send(pending)
  }

  #send(encoded: Encoded): void {
    this.#lastSent = this.#port.now()
    this.#port.send(encoded)
  }
}
