/** MessagePack to values. Whoever can publish chooses these bytes: each length is checked before anything is made of it. */
import { isUtf8 } from 'node:buffer'
import { UndecodableError } from '../undecodable.js'
import * as word from './format.js'

/** What the timestamp of a Date may be, in ms. */
const MAX_TIME = 8.64e15

class Unpacker {
  readonly #bytes: Buffer
  #at: number
  #depth: number
  #values = 0

  constructor(bytes: Buffer, at: number, depth: number) {
    this.#bytes = bytes
    this.#at = at
    this.#depth = depth
  }

  unpack(): unknown {
    const value = this.#value()
    const rest = this.#bytes.length - this.#at
    if (rest > 0) throw this.#damaged(`${rest} bytes behind its end`)
    return value
  }

  #damaged(what: string): UndecodableError {
    return new UndecodableError(`The body is not MessagePack: ${what}, at byte ${this.#at} of ${this.#bytes.length}.`)
  }

  /** Where the next `count` bytes begin. */
  #take(count: number): number {
    const start = this.#at
    if (count > this.#bytes.length - start) throw this.#damaged(`it ends too early, ${count} more bytes are wanted`)
    this.#at = start + count
    return start
  }

  #uint(size: 1 | 2 | 4): number {
    return this.#bytes.readUIntBE(this.#take(size), size)
  }

  #value(): unknown {
    if (++this.#values > word.MAX_VALUES) throw new UndecodableError(`The body holds more than ${word.MAX_VALUES} values.`)
    const type = this.#bytes[this.#take(1)]!
    if (type < 0x80) return type
    if (type < 0x90) return this.#map(type & 0x0f)
    if (type < 0xa0) return this.#array(type & 0x0f)
    if (type < 0xc0) return this.#text(type & 0x1f)
    if (type >= 0xe0) return type - 0x100
    if (type >= word.FIXEXT_1 && type < word.STR_8) return this.#extension(1 << (type - word.FIXEXT_1))
    switch (type) {
      case word.NIL:
        return null
      case word.FALSE:
        return false
      case word.TRUE:
        return true
      case word.BIN_8:
      case word.BIN_8 + 1:
      case word.BIN_8 + 2:
        return this.#binary(this.#uint(width(type - word.BIN_8)))
      case word.EXT_8:
      case word.EXT_8 + 1:
      case word.EXT_8 + 2:
        return this.#extension(this.#uint(width(type - word.EXT_8)))
      case word.FLOAT_32:
        return this.#bytes.readFloatBE(this.#take(4))
      case word.FLOAT_64:
        return this.#bytes.readDoubleBE(this.#take(8))
      case word.UINT_8:
      case word.UINT_16:
      case word.UINT_32:
        return this.#uint(width(type - word.UINT_8))
      case word.UINT_64:
        return whole(this.#bytes.readBigUInt64BE(this.#take(8)))
      case word.INT_8:
        return this.#bytes.readInt8(this.#take(1))
      case word.INT_16:
        return this.#bytes.readInt16BE(this.#take(2))
      case word.INT_32:
        return this.#bytes.readInt32BE(this.#take(4))
      case word.INT_64:
        return whole(this.#bytes.readBigInt64BE(this.#take(8)))
      case word.STR_8:
      case word.STR_16:
      case word.STR_32:
        return this.#text(this.#uint(width(type - word.STR_8)))
      case word.ARRAY_16:
      case word.ARRAY_32:
        return this.#array(this.#uint(type === word.ARRAY_16 ? 2 : 4))
      case word.MAP_16:
      case word.MAP_32:
        return this.#map(this.#uint(type === word.MAP_16 ? 2 : 4))
      default:
        throw this.#damaged('the word 0xc1, which has no meaning')
    }
  }

  #text(size: number): string {
    const start = this.#take(size)
    const text = this.#bytes.toString('utf8', start, start + size)
    // What is not UTF-8 has become U+FFFD, which a text may also hold by itself.
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, start + size))) throw this.#damaged('text that is not UTF-8')
    return text
  }

  /** A copy: the body lies in a larger buffer of the connection's, which it would keep alive. */
  #binary(size: number): Buffer {
    const start = this.#take(size)
    return Buffer.from(this.#bytes.subarray(start, start + size))
  }

  #enter(count: number, bytesEach: number): void {
    if (count * bytesEach > this.#bytes.length - this.#at) throw this.#damaged(`${count} elements are announced, more than there is room for`)
    if (++this.#depth > word.MAX_DEPTH) throw new UndecodableError(`The body is nested more than ${word.MAX_DEPTH} deep.`)
  }

  #array(length: number): unknown[] {
    this.#enter(length, 1)
    const list: unknown[] = []
    for (let i = 0; i < length; i++) list.push(this.#value())
    this.#depth--
    return list
  }

  #map(length: number): Record<string, unknown> {
    this.#enter(length, 2)
    const object: Record<string, unknown> = {}
    for (let i = 0; i < length; i++) {
      const key = this.#value()
      if (typeof key !== 'string' && typeof key !== 'number' && typeof key !== 'bigint')
        throw this.#damaged('a map with a key that is neither text nor a number')
      const value = this.#value()
      // A plain assignment would make it the object's prototype.
      if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
      else object[String(key)] = value
    }
    this.#depth--
    return object
  }

  #extension(size: number): Date {
    const type = this.#bytes.readInt8(this.#take(1))
    if (type !== word.TIMESTAMP) throw this.#damaged(`an extension of type ${type}; only the timestamp (-1) is known`)
    const at = this.#take(size)
    let seconds: number
    let nanoseconds: number
    if (size === 4) {
      seconds = this.#bytes.readUInt32BE(at)
      nanoseconds = 0
    } else if (size === 8) {
      const both = this.#bytes.readBigUInt64BE(at)
      seconds = Number(both & 0x3_ffff_ffffn)
      nanoseconds = Number(both >> 34n)
    } else if (size === 12) {
      nanoseconds = this.#bytes.readUInt32BE(at)
      seconds = Number(this.#bytes.readBigInt64BE(at + 4))
    } else {
      throw this.#damaged(`a timestamp of ${size} bytes`)
    }
    const time = seconds * 1_000 + Math.floor(nanoseconds / 1_000_000)
    if (nanoseconds > 999_999_999 || Math.abs(time) > MAX_TIME) throw this.#damaged('a timestamp that no Date can hold')
    return new Date(time)
  }
}

const width = (step: number): 1 | 2 | 4 => (step === 0 ? 1 : step === 1 ? 2 : 4)

const whole = (value: bigint): number | bigint => {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/**
 * Decodes one value, which must be all of `bytes`. Integers of 64 bits become numbers when those are exact, else BigInts; maps
 * become plain objects, `__proto__` a key like any other; binaries become Buffers, timestamps Dates (of whole milliseconds).
 *
 * @throws {UndecodableError} the bytes are not MessagePack, or hold what nothing here reads
 */
export const unpack = (bytes: Buffer): unknown => new Unpacker(bytes, 0, 0).unpack()

/** As `unpack`, of the last value of a map whose bytes up to `at` are known. */
export const unpackBehind = (bytes: Buffer, at: number): unknown => new Unpacker(bytes, at, 1).unpack()
