/**
 * MessagePack to values. Any publisher chooses these bytes, so they are scanned before msgpackr makes values of them: lengths, depth
 * and the number of values are checked, forbidden content is refused, and values that msgpackr alone would alter are marked.
 */
import { isUtf8 } from 'node:buffer'
import { UndecodableError } from '../../errors.js'
import * as format from './format.js'
import { unpackr } from './msgpackr.js'

/** msgpackr gives longer text to a TextDecoder. */
const DECODER_SIZE = 64
/** A mark is one number: its place times this, plus its type. So marks sort by place. */
const MARK_TYPES = 8

class Scanner {
  readonly #bytes: Buffer
  readonly #marks: number[] = []
  #at: number
  #depth: number
  #values = 0

  constructor(bytes: Buffer, at: number, depth: number) {
    this.#bytes = bytes
    this.#at = at
    this.#depth = depth
  }

  scan(): Buffer {
    const start = this.#at
    this.#value()
    const rest = this.#bytes.length - this.#at
    if (rest > 0) throw this.#damaged(`${rest} bytes behind its end`)
    return this.#marks.length === 0 ? this.#bytes.subarray(start) : this.#marked(start)
  }

  #marked(start: number): Buffer {
    const marked = Buffer.allocUnsafeSlow(this.#bytes.length - start + this.#marks.length * 3)
    let [from, to] = [start, 0]
    for (const mark of Float64Array.from(this.#marks).sort()) {
      const at = Math.floor(mark / MARK_TYPES)
      to += this.#bytes.copy(marked, to, from, at)
      to = marked.writeUIntBE((format.FIXEXT_1 << 16) | ((mark % MARK_TYPES) << 8), to, 3)
      from = at
    }
    this.#bytes.copy(marked, to, from)
    return marked
  }

  #mark(at: number, mark: number): void {
    this.#marks.push(at * MARK_TYPES + mark)
  }

  #damaged(what: string): UndecodableError {
    return new UndecodableError(`The body is not MessagePack: ${what}, at byte ${this.#at} of ${this.#bytes.length}.`)
  }

  /** Skips the next `count` bytes and returns their beginning. */
  #take(count: number): number {
    const start = this.#at
    if (count > this.#bytes.length - start) throw this.#damaged(`it ends too early, ${count} more bytes are wanted`)
    this.#at = start + count
    return start
  }

  /** A length of 1, 2 or 4 bytes: `step` is 0, 1 or 2. */
  #length(step: number): number {
    return this.#bytes.readUIntBE(this.#take(1 << step), 1 << step)
  }

  #value(): void {
    if (++this.#values > format.MAX_VALUES) throw new UndecodableError(`The body holds more than ${format.MAX_VALUES} values.`)
    const at = this.#take(1)
    const type = this.#bytes[at]!
    if (type < 0x80 || type >= 0xe0) return
    if (type < 0x90) this.#map(at, type & 0x0f)
    else if (type < 0xa0) this.#array(type & 0x0f)
    else if (type < format.NIL) this.#text(at, type & 0x1f)
    else if (type === format.UNUSED) throw this.#damaged('the word 0xc1, which has no meaning')
    else if (type < format.BIN_8) return
    else if (type < format.EXT_8) this.#take(this.#length(type - format.BIN_8))
    else if (type < format.FLOAT_32) this.#extension(this.#length(type - format.EXT_8))
    else if (type < format.UINT_8) this.#take(type === format.FLOAT_32 ? 4 : 8)
    else if (type < format.FIXEXT_1) this.#integer(at, 1 << ((type - format.UINT_8) & 3))
    else if (type < format.STR_8) this.#extension(1 << (type - format.FIXEXT_1))
    else if (type < format.ARRAY_16) this.#text(at, this.#length(type - format.STR_8))
    else if (type < format.MAP_16) this.#array(this.#length(type - format.ARRAY_16 + 1))
    else this.#map(at, this.#length(type - format.MAP_16 + 1))
  }

  #integer(at: number, size: number): void {
    const start = this.#take(size)
    if (size < 8 || this.#bytes.readUInt32BE(start + 4) !== 0) return
    const high = this.#bytes.readInt32BE(start)
    if (high === 0x20_0000 || high === -0x20_0000) this.#mark(at, format.MARK.BIG_INT)
  }

  #text(at: number, size: number): void {
    const start = this.#take(size)
    const bytes = this.#bytes
    if (size <= DECODER_SIZE) {
      // A call into Node would cost more than the loop.
      let i = start
      while (i < this.#at && bytes[i]! < 0x80) i++
      if (i === this.#at) return
    } else if (bytes.readUIntBE(start, 3) === 0xef_bbbf) this.#mark(at, format.MARK.BYTE_ORDER_MARK)
    if (!isUtf8(bytes.subarray(start, this.#at))) throw this.#damaged('text that is not UTF-8')
  }

  #enter(count: number, bytesEach: number): void {
    if (count * bytesEach > this.#bytes.length - this.#at) throw this.#damaged(`${count} elements are announced, more than there is room for`)
    if (++this.#depth > format.MAX_DEPTH) throw new UndecodableError(`The body is nested more than ${format.MAX_DEPTH} deep.`)
  }

  #array(length: number): void {
    this.#enter(length, 1)
    for (let i = 0; i < length; i++) this.#value()
    this.#depth--
  }

  #map(at: number, length: number): void {
    this.#enter(length, 2)
    let hasProto = false
    for (let i = 0; i < length; i++) {
      const key = this.#at
      this.#value()
      const type = this.#bytes[key]!
      const isText = (type >= 0xa0 && type < format.NIL) || (type >= format.STR_8 && type < format.ARRAY_16)
      const isNumber = type < 0x80 || type >= 0xe0 || (type >= format.FLOAT_32 && type < format.FIXEXT_1)
      if (!isText && !isNumber) throw this.#damaged('a map with a key that is neither text nor a number')
      // A longer key with this ending is marked too; the extension distinguishes the two.
      if (this.#bytes[this.#at - 1] === 0x5f && this.#bytes.toString('latin1', this.#at - 9, this.#at) === '__proto__') {
        hasProto = true
        this.#mark(key, format.MARK.PROTO_KEY)
      }
      this.#value()
    }
    if (hasProto) this.#mark(at, format.MARK.PROTO_MAP)
    this.#depth--
  }

  /** Skips the content of a timestamp: the extension of msgpackr reads and checks it. */
  #extension(size: number): void {
    const type = this.#bytes.readInt8(this.#take(1))
    if (type !== format.TIMESTAMP) throw this.#damaged(`an extension of type ${type}; only the timestamp (-1) is known`)
    this.#take(size)
    if (size !== 4 && size !== 8 && size !== 12) throw this.#damaged(`a timestamp of ${size} bytes`)
  }
}

/**
 * Decodes one value, which must be all of `bytes`. Integers of 64 bits become numbers when those are exact, else BigInts; maps
 * become plain objects, `__proto__` a key like any other; binaries become Buffers, timestamps Dates (of whole milliseconds).
 *
 * @throws {UndecodableError} the bytes are not MessagePack, or hold what nothing here reads
 */
export const unpack = (bytes: Buffer): unknown => unpackr.unpack(new Scanner(bytes, 0, 0).scan())

/** As `unpack`, of the last value of a map whose bytes up to `at` are known. */
export const unpackBehind = (bytes: Buffer, at: number): unknown => unpackr.unpack(new Scanner(bytes, at, 1).scan())
