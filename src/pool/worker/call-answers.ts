import { Deque } from '../../util/deque.js'
import { overText } from '../../util/shown-text.js'
import { type Encoded, encode } from '../../wire/codec/index.js'
import { SerializationError } from '../../wire/errors.js'
import { FRAME_HEAD, LENGTH_BYTES, REPLY_HEAD, writeHead, writeReplyHead } from '../../wire/frame.js'
import type { UrgentFrames } from '../../wire/frame-writer.js'
import { FLAG_ERROR, Kind } from '../../wire/messages.js'
import { encodeError } from '../../wire/remote-error/index.js'
import type { AnswerSink, CallAnswer, HostCall } from '../jobs/calls.js'

const RESERVE = FRAME_HEAD + REPLY_HEAD

/**
 * The answers of calls, on their way to one worker. They are encoded when the pipe takes them, some 64 KiB at a time. So while the worker does not
 * read, about so much and one more answer are held as bytes, and the others as the values that the functions returned.
 */
export class CallAnswers implements AnswerSink, UrgentFrames {
  readonly #waiting = new Deque<HostCall>()
  readonly #maxMessageSize: number
  readonly #later: (fn: () => void) => void
  readonly #write: () => void
  #asked = false
  #stopped = false

  /** `later`: calls back when the code that runs now has returned. `write`: makes the pipe's writer take as many answers as it can. */
  constructor(maxMessageSize: number, later: (fn: () => void) => void, write: () => void) {
    this.#maxMessageSize = maxMessageSize
    this.#later = later
    this.#write = write
  }

  add(call: HostCall): void {
    if (this.#stopped) {
      call.end()
      return
    }
    this.#waiting.push(call)
    if (this.#asked) return
    this.#asked = true
    // Many functions may return at once: their answers share a write.
    this.#later(() => {
      this.#asked = false
      this.#write()
    })
  }

  next(): readonly Uint8Array[] | undefined {
    for (let call = this.#waiting.shift(); call !== undefined; call = this.#waiting.shift()) {
      const { answer, number, delivery } = call
      // The job of this call has ended meanwhile.
      if (answer === undefined) continue
      call.end()
      const { flags, encoded } = this.#encode(call.name, answer)
      const { body, binaries } = encoded
      let bytes = body.length
      for (const binary of binaries) bytes += binary.byteLength
      writeHead(body, 0, bytes - LENGTH_BYTES, Kind.REPLY, flags, 0, delivery, 0)
      writeReplyHead(body, FRAME_HEAD, number)
      return binaries.length === 0 ? [body] : [body, ...binaries]
    }
    return undefined
  }

  /** The worker's process is gone. */
  stop(): void {
    this.#stopped = true
    for (const call of this.#waiting.drain()) call.end()
  }

  #encode(name: string, answer: CallAnswer): { flags: number; encoded: Encoded } {
    if ('error' in answer) return this.#error(name, answer.error)
    let encoded: Encoded
    try {
      encoded = encode(answer.value, RESERVE, { copyBinaries: true, root: 'answer' })
    } catch (cause) {
      const why = cause instanceof SerializationError ? cause.message : 'it throws when it is read'
      return this.#error(name, new SerializationError(`The answer of the call '${name}' cannot be sent: ${why}`, { cause }))
    }
    if (encoded.size <= this.#maxMessageSize) return { flags: 0, encoded }
    return this.#error(name, new SerializationError(`The answer of the call '${name}' has ${overText(encoded.size, 'maxMessageSize', this.#maxMessageSize)}.`))
  }

  #error(name: string, error: unknown): { flags: number; encoded: Encoded } {
    const encoded = encodeError(error, RESERVE)
    if (encoded.size <= this.#maxMessageSize) return { flags: FLAG_ERROR, encoded }
    const refusal = new SerializationError(`The error of the call '${name}' has ${overText(encoded.size, 'maxMessageSize', this.#maxMessageSize)}.`)
    return { flags: FLAG_ERROR, encoded: encodeError(refusal, RESERVE) }
  }
}
