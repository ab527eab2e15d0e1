import { overText } from '../../util/shown-text.js'
import { type Encoded, encode } from '../../wire/codec/index.js'
import { SerializationError } from '../../wire/errors.js'
import { FRAME_HEAD } from '../../wire/frame.js'

export interface PumpPort {
  /** Calls into the task's code; safe to interrupt when it is called from within a native callback. */
  call(fn: () => unknown): unknown
  item(encoded: Encoded): void
  ended(): void
  failed(error: unknown, unsendable: boolean): void
  readonly maxMessageSize: number
}

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>

/** The iterator of what a streamed task returned; undefined: it is not iterable. */
export const iteratorOf = (value: unknown): AnyIterator | undefined => {
  if (typeof value !== 'object' || value === null) return undefined
  const source = value as { [Symbol.asyncIterator]?: () => AnyIterator; [Symbol.iterator]?: () => AnyIterator; next?: unknown }
  if (typeof source[Symbol.asyncIterator] === 'function') return source[Symbol.asyncIterator]!()
  if (typeof source[Symbol.iterator] === 'function') return source[Symbol.iterator]!()
  return typeof source.next === 'function' ? (value as AnyIterator) : undefined
}

export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  (typeof value === 'object' || typeof value === 'function') && value !== null && typeof (value as PromiseLike<unknown>).then === 'function'

/** Takes items from a task's iterator as long as the host has granted credit for them. */
export class ItemPump {
  readonly #iterator: AnyIterator
  readonly #port: PumpPort
  #items = 0
  #bytes = 0
  /** A call of `next()` is under way: there is one at a time. */
  #stepping = false
  /** A synchronous call of the iterator is under way. If a later callback still finds this, the call was terminated (no `finally` runs then), and `discard()` follows. */
  #calling = false
  #closing = false
  #done = false

  constructor(iterator: AnyIterator, port: PumpPort) {
    this.#iterator = iterator
    this.#port = port
  }

  /** Adds credit. One item may exceed the bytes, so that an item larger than the whole grant is still sent. */
  grant(items: number, bytes: number): void {
    this.#items += items
    this.#bytes += bytes
    this.#run()
  }

  /** Closes the iterator, which runs the generator's `finally`; the stream then ends. */
  close(): void {
    if (this.#done || this.#closing || this.#calling) return
    this.#closing = true
    this.#return(() => this.#end())
  }

  /** The call was interrupted: nothing more is taken or sent. */
  discard(): void {
    this.#done = true
  }

  #run(): void {
    while (!this.#stepping && !this.#calling && !this.#done && !this.#closing && this.#items > 0 && this.#bytes > 0) {
      let step: unknown
      try {
        step = this.#call(() => this.#iterator.next())
      } catch (error) {
        this.#fail(error)
        return
      }
      if (!isThenable(step)) {
        this.#take(step)
        continue
      }
      this.#stepping = true
      Promise.resolve(step).then(
        (result) => {
          this.#stepping = false
          this.#take(result)
          this.#run()
        },
        (error) => {
          this.#stepping = false
          this.#fail(error)
        },
      )
    }
  }

  #take(step: unknown): void {
    // While it closes, only what `return()` gives counts.
    if (this.#done || this.#closing) return
    if (typeof step !== 'object' || step === null) {
      this.#fail(new TypeError(`The task's iterator gave ${String(step)}, which is not an object`))
      return
    }
    const { done, value } = step as IteratorResult<unknown>
    if (done === true) {
      this.#end()
      return
    }
    let encoded: Encoded
    try {
      encoded = encode(value, FRAME_HEAD)
      if (encoded.size > this.#port.maxMessageSize)
        throw new SerializationError(`An item has ${overText(encoded.size, 'maxMessageSize', this.#port.maxMessageSize)}.`)
    } catch (error) {
      this.#closing = true
      this.#return(() => this.#fail(error, true))
      return
    }
    this.#items -= 1
    this.#bytes -= encoded.size
    this.#port.item(encoded)
  }

  #return(then: () => void): void {
    const iterator = this.#iterator
    let returned: unknown
    try {
      returned = typeof iterator.return === 'function' ? this.#call(() => iterator.return?.()) : undefined
    } catch (error) {
      this.#fail(error)
      return
    }
    if (isThenable(returned)) Promise.resolve(returned).then(then, (error) => this.#fail(error))
    else then()
  }

  #call(fn: () => unknown): unknown {
    this.#calling = true
    try {
      return this.#port.call(fn)
    } finally {
      this.#calling = false
    }
  }

  #end(): void {
    if (this.#done) return
    this.#done = true
    this.#port.ended()
  }

  #fail(error: unknown, unsendable = false): void {
    if (this.#done) return
    this.#done = true
    this.#port.failed(error, unsendable)
  }
}
