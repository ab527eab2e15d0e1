import { type Encoded, encode } from '../../wire/codec/index.js'
import { SerializationError } from '../../wire/errors.js'
import { FRAME_HEAD } from '../../wire/messages.js'

/** ms between two progress frames of one job. */
export const PROGRESS_INTERVAL = 50

/** What a valve needs of its surroundings. */
export interface ProgressPort {
  now(): number
  /** Calls back after `ms`; need not keep the process alive. */
  later(ms: number, fn: () => void): void
  send(encoded: Encoded): void
  readonly maxMessageSize: number
}

/** Lets one job's progress through: the first value at once, later ones at most every 50 ms, the last always. */
export class ProgressValve {
  readonly #port: ProgressPort
  #lastSent = Number.NEGATIVE_INFINITY
  /** Encoded at the call, like every value: what the task changes afterwards is not seen. */
  #held: Encoded | undefined
  #timer = false

  constructor(port: ProgressPort) {
    this.#port = port
  }

  report(value: unknown): void {
    const encoded = encode(value, FRAME_HEAD, { copyBinaries: true, root: 'progress' })
    if (encoded.size > this.#port.maxMessageSize) {
      throw new SerializationError(`A progress value has ${encoded.size} bytes; maxMessageSize is ${this.#port.maxMessageSize}.`)
    }
    const wait = this.#lastSent + PROGRESS_INTERVAL - this.#port.now()
    if (wait <= 0) {
      this.#held = undefined
      this.#send(encoded)
      return
    }
    this.#held = encoded
    if (this.#timer) return
    this.#timer = true
    this.#port.later(wait, () => {
      this.#timer = false
      this.flush()
    })
  }

  /** Sends what is held: before the result, or when its time has come. */
  flush(): void {
    const held = this.#held
    if (held === undefined) return
    this.#held = undefined
    this.#send(held)
  }

  #send(encoded: Encoded): void {
    this.#lastSent = this.#port.now()
    this.#port.send(encoded)
  }
}
