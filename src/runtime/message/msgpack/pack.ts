/**
 * Values to MessagePack that any language reads. What it cannot carry as it is, is refused with its path.
 *
 * Not by msgpackr, whose table of extensions is one for the whole process: the host may use it in its own way.
 */

import { describe, pathText, type Step } from '../../../wire/codec/path.js'
import { SerializationError } from '../../../wire/errors.js'
import * as word from './format.js'
import { Output } from './output.js'

/** ES2024, not in the library that TypeScript is told of; Node 20 has it. */
type Text = string & { isWellFormed(): boolean }

const INT64_MIN = -(2n ** 63n)
const UINT64_MAX = 2n ** 64n - 1n

/** The prototype of a plain object, of this realm or of another, is the end of its chain. */
const isPlain = (value: object): value is Record<string, unknown> => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

class Packer {
  readonly #root: string
  readonly #output: Output
  readonly #path: Step[] = []
  readonly #within: object[] = []
  #values = 0

  constructor(root: string, maxSize: number) {
    this.#root = root
    this.#output = new Output(maxSize)
  }

  pack(value: unknown): Buffer {
    try {
      this.#value(value)
    } catch (error) {
      if (error instanceof SerializationError) throw error
      throw this.#refusal(error instanceof RangeError ? error.message : `cannot be read: ${error instanceof Error ? error.message : String(error)}`, error)
    }
    return this.#output.finish()
  }

  #refusal(what: string, cause?: unknown): SerializationError {
    const path = pathText(this.#root, this.#path).replace(/^\./, '')
    return new SerializationError(`${path === '' ? 'The message' : path} ${what}.`, cause === undefined ? undefined : { cause })
  }

  #byte(value: number): void {
    const at = this.#output.take(1)
    this.#output.bytes[at] = value
  }

  #value(value: unknown): void {
    if (++this.#values > word.MAX_VALUES) throw this.#refusal(`is one value too many: a message holds at most ${word.MAX_VALUES}`)
    switch (typeof value) {
      case 'string':
        this.#text(value)
        break
      case 'number':
        this.#number(value)
        break
      case 'boolean':
        this.#byte(value ? word.TRUE : word.FALSE)
        break
      case 'bigint':
        this.#bigInt(value)
        break
      case 'object':
        if (value === null) this.#byte(word.NIL)
        else this.#object(value)
        break
      case 'undefined':
        throw this.#refusal('is undefined, for which MessagePack has no word: use null, or leave it out')
      default:
        throw this.#refusal(`is ${describe(value)}, which no message can carry`)
    }
  }

  #number(value: number): void {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
      const at = this.#output.take(9)
      this.#output.bytes[at] = word.FLOAT_64
      this.#output.bytes.writeDoubleBE(value, at + 1)
    } else if (value >= -32 && value < 0x80) {
      this.#byte(value & 0xff)
    } else if (value < -0x8000_0000 || value > 0xffff_ffff) {
      this.#int64(BigInt(value))
    } else {
      this.#integer(value)
    }
  }

  #integer(value: number): void {
    const step = value < 0 ? (value >= -0x80 ? 0 : value >= -0x8000 ? 1 : 2) : value < 0x100 ? 0 : value < 0x1_0000 ? 1 : 2
    const size = 1 << step
    const at = this.#output.take(1 + size)
    const { bytes } = this.#output
    bytes[at] = (value < 0 ? word.INT_8 : word.UINT_8) + step
    if (value < 0) bytes.writeIntBE(value, at + 1, size)
    else bytes.writeUIntBE(value, at + 1, size)
  }

  #bigInt(value: bigint): void {
    if (value < INT64_MIN || value > UINT64_MAX) throw this.#refusal(`is ${value}n, which 64 bits cannot hold: send it as a string`)
    if (Number.isSafeInteger(Number(value))) throw this.#refusal(`is ${value}n and would arrive as the number ${value}: send a number, or a string`)
    this.#int64(value)
  }

  #int64(value: bigint): void {
    const at = this.#output.take(9)
    const { bytes } = this.#output
    bytes[at] = value < 0n ? word.INT_64 : word.UINT_64
    if (value < 0n) bytes.writeBigInt64BE(value, at + 1)
    else bytes.writeBigUInt64BE(value, at + 1)
  }

  #text(value: string): void {
    if (!(value as Text).isWellFormed()) throw this.#refusal('holds half of a surrogate pair, which UTF-8 cannot carry')
    const size = Buffer.byteLength(value)
    if (size < 32) this.#byte(0xa0 | size)
    else this.#length(size, word.STR_8, 3)
    const at = this.#output.take(size)
    this.#output.bytes.write(value, at, size, 'utf8')
  }

  /** A word and the length behind it. `widths`: 3 where there is a word for lengths of 8 bits, else 2. */
  #length(length: number, first: number, widths: 2 | 3): void {
    const narrow = widths === 3 && length < 0x100
    const size = narrow ? 1 : length < 0x1_0000 ? 2 : 4
    const at = this.#output.take(1 + size)
    this.#output.bytes[at] = first + (narrow ? 0 : (length < 0x1_0000 ? 0 : 1) + widths - 2)
    this.#output.bytes.writeUIntBE(length, at + 1, size)
  }

  #object(value: object): void {
    if (Array.isArray(value)) this.#nested(value, () => this.#array(value))
    else if (value instanceof Uint8Array) this.#binary(value)
    else if (value instanceof Date) this.#date(value)
    else if (isPlain(value)) this.#nested(value, () => this.#map(value))
    else throw this.#refusal(`is ${describe(value)}: messages carry plain objects, arrays, text, numbers, booleans, null, Buffers and Dates`)
  }

  #nested(value: object, write: () => void): void {
    if (this.#within.includes(value)) throw this.#refusal('holds itself: messages cannot carry circles')
    if (this.#within.length >= word.MAX_DEPTH) throw this.#refusal(`is nested more than ${word.MAX_DEPTH} deep`)
    this.#within.push(value)
    write()
    this.#within.pop()
  }

  #array(list: readonly unknown[]): void {
    const { length } = list
    if (length < 16) this.#byte(0x90 | length)
    else this.#length(length, word.ARRAY_16, 2)
    for (let i = 0; i < length; i++) {
      this.#path.push(i)
      this.#value(list[i])
      this.#path.pop()
    }
  }

  #map(object: Record<string, unknown>): void {
    // Read once: a getter is called once, and what was counted is what is written.
    const entries = Object.entries(object).filter(([, value]) => value !== undefined)
    if (entries.length < 16) this.#byte(0x80 | entries.length)
    else this.#length(entries.length, word.MAP_16, 2)
    for (const [key, value] of entries) {
      this.#path.push(key)
      this.#text(key)
      this.#value(value)
      this.#path.pop()
    }
  }

  #binary(view: Uint8Array): void {
    this.#length(view.byteLength, word.BIN_8, 3)
    const at = this.#output.take(view.byteLength)
    this.#output.bytes.set(view, at)
  }

  /** The shortest of the standard's three forms that holds it. */
  #date(date: Date): void {
    const time = date.getTime()
    if (Number.isNaN(time)) throw this.#refusal('is an invalid Date')
    const seconds = Math.floor(time / 1_000)
    const nanoseconds = (time - seconds * 1_000) * 1_000_000
    if (seconds >= 0 && seconds <= 0xffff_ffff && nanoseconds === 0) {
      const at = this.#output.take(6)
      this.#output.bytes[at] = word.FIXEXT_4
      this.#output.bytes.writeInt8(word.TIMESTAMP, at + 1)
      this.#output.bytes.writeUInt32BE(seconds, at + 2)
    } else if (seconds >= 0 && seconds < 2 ** 34) {
      const at = this.#output.take(10)
      this.#output.bytes[at] = word.FIXEXT_8
      this.#output.bytes.writeInt8(word.TIMESTAMP, at + 1)
      this.#output.bytes.writeBigUInt64BE((BigInt(nanoseconds) << 34n) | BigInt(seconds), at + 2)
    } else {
      const at = this.#output.take(15)
      this.#output.bytes[at] = word.EXT_8
      this.#output.bytes[at + 1] = 12
      this.#output.bytes.writeInt8(word.TIMESTAMP, at + 2)
      this.#output.bytes.writeUInt32BE(nanoseconds, at + 3)
      this.#output.bytes.writeBigInt64BE(BigInt(seconds), at + 7)
    }
  }
}

/**
 * Encodes a value. `root` is what the value is called in an error's path.
 *
 * @throws {SerializationError} something in it cannot be carried exactly, or it is larger than `maxSize` bytes
 */
export const pack = (value: unknown, root: string, maxSize: number): Buffer => new Packer(root, maxSize).pack(value)
