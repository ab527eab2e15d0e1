/** An object with one short text in it, over and over: what comes before the text is always the same. */
import { encode } from './index.js'
import { SHORT_TEXT, TEXT } from './plain/opcodes.js'
import { textRoom, writeText } from './plain/text.js'

export class TextRecords {
  readonly #key: string
  readonly #reserve: number
  /** Reserve, what comes before the text, and room for it; made when it is first wanted. */
  #scratch: Buffer | undefined
  #textAt = 0

  /** For `{ [key]: text }`, each behind `reserve` free bytes. */
  constructor(key: string, reserve: number) {
    this.#key = key
    this.#reserve = reserve
  }

  /** What is read as that object. The word it begins with is the one that `encode` had for it at first. */
  encode(text: string): Buffer {
    const scratch = this.#scratch ?? this.#prepare()
    if (text.length > SHORT_TEXT || scratch === undefined) return encode({ [this.#key]: text }, this.#reserve).body
    const end = writeText(scratch, this.#textAt, text)
    const record = Buffer.allocUnsafe(end)
    scratch.copy(record, 0, 0, end)
    return record
  }

  /** Undefined: it is not written as plain data just now. */
  #prepare(): Buffer | undefined {
    const { body } = encode({ [this.#key]: '' }, this.#reserve)
    // The empty text is the last word, of one byte.
    if (body.at(-1) !== TEXT) return undefined
    this.#textAt = body.length - 1
    this.#scratch = Buffer.alloc(this.#textAt + textRoom(' '.repeat(SHORT_TEXT)))
    this.#scratch.set(body)
    return this.#scratch
  }
}
