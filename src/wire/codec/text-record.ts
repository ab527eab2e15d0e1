/** Encodes objects that have one text property and are alike but for that text: the bytes in front of it are the same for all. */
import { encode } from './index.js'
import { MAX_SHORT_TEXT, TEXT } from './plain/opcodes.js'
import { maxTextBytes, writeText } from './plain/text.js'

export class TextRecords {
  readonly #key: string
  readonly #reserve: number
  /** The reserve, the bytes in front of the text, and room for the text; made at the first use. */
  #scratch: Buffer | undefined
  #textAt = 0

  /** For `{ [key]: text }`, each behind `reserve` free bytes. */
  constructor(key: string, reserve: number) {
    this.#key = key
    this.#reserve = reserve
  }

  /** Bytes that decode to `{ [key]: text }`. They begin with the opcodes that `encode` used for the first. */
  encode(text: string): Buffer {
    const scratch = this.#scratch ?? this.#prepare()
    if (text.length > MAX_SHORT_TEXT || scratch === undefined) return encode({ [this.#key]: text }, this.#reserve).body
    const end = writeText(scratch, this.#textAt, text)
    const record = Buffer.allocUnsafe(end)
    scratch.copy(record, 0, 0, end)
    return record
  }

  /** Undefined: `encode` does not write it as plain data at the moment. */
  #prepare(): Buffer | undefined {
    const { body } = encode({ [this.#key]: '' }, this.#reserve)
    // The empty text is the last opcode, of one byte.
    if (body.at(-1) !== TEXT) return undefined
    this.#textAt = body.length - 1
    this.#scratch = Buffer.alloc(this.#textAt + maxTextBytes(' '.repeat(MAX_SHORT_TEXT)))
    this.#scratch.set(body)
    return this.#scratch
  }
}
