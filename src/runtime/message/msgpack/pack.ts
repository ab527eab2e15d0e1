/** Values to MessagePack that any language reads. What it cannot carry as it is, is refused with its path. */
import { describe, pathText, type Step } from '../../../wire/codec/path.js'
import { SerializationError } from '../../../wire/errors.js'
import { FLOAT_64, MAX_DEPTH, MAX_VALUES, UINT_64 } from './format.js'
import { packr, Wide } from './msgpackr.js'

/** ES2024, absent from the library that TypeScript is given; Node 20 has it. */
type Text = string & { isWellFormed(): boolean }

/** The prototype of a plain object, of this realm or of another, is the end of its chain. */
const isPlain = (value: object): value is Record<string, unknown> => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

const int64 = (value: bigint): bigint | Wide => (value < 0n ? value : new Wide(UINT_64, value))
const negativeZero = new Wide(FLOAT_64, 2n ** 63n)

/** msgpackr packs into this, or into a larger buffer of its own, which it would keep. */
const scratch = Buffer.allocUnsafeSlow(262_144)

/** Copies a value into what msgpackr packs exactly. */
class Copier {
  readonly #root: string
  readonly #maxSize: number
  readonly #path: Step[] = []
  readonly #within: object[] = []
  #values = 0
  /** Bytes of texts and binaries. All else takes at most 9 bytes for each value. */
  #size = 0

  constructor(root: string, maxSize: number) {
    this.#root = root
    this.#maxSize = maxSize
  }

  copy(value: unknown): unknown {
    try {
      return this.#value(value)
    } catch (error) {
      if (error instanceof SerializationError) throw error
      throw this.#refusal(`cannot be read: ${error instanceof Error ? error.message : String(error)}`, error)
    }
  }

  #refusal(what: string, cause?: unknown): SerializationError {
    const path = pathText(this.#root, this.#path).replace(/^\./, '')
    return new SerializationError(`${path === '' ? 'The message' : path} ${what}.`, cause === undefined ? undefined : { cause })
  }

  #value(value: unknown): unknown {
    if (++this.#values > MAX_VALUES) throw this.#refusal(`is one value too many: a message holds at most ${MAX_VALUES}`)
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'number':
        if (Object.is(value, -0)) return negativeZero
        // msgpackr would pack it as a float, which other languages do not take for an integer.
        return Number.isSafeInteger(value) && (value < -0x8000_0000 || value > 0xffff_ffff) ? int64(BigInt(value)) : value
      case 'boolean':
        return value
      case 'bigint':
        return this.#bigInt(value)
      case 'object':
        return value === null ? null : this.#object(value)
      case 'undefined':
        throw this.#refusal('is undefined, for which MessagePack has no word: use null, or leave it out')
      default:
        throw this.#refusal(`is ${describe(value)}, which no message can carry`)
    }
  }

  #bigInt(value: bigint): unknown {
    if (value < -(2n ** 63n) || value >= 2n ** 64n) throw this.#refusal(`is ${value}n, which 64 bits cannot hold: send it as a string`)
    if (Number.isSafeInteger(Number(value))) throw this.#refusal(`is ${value}n and would arrive as the number ${value}: send a number, or a string`)
    return int64(value)
  }

  #text(value: string): string {
    if (!(value as Text).isWellFormed()) throw this.#refusal('holds half of a surrogate pair, which UTF-8 cannot carry')
    this.#count(Buffer.byteLength(value))
    return value
  }

  #count(bytes: number): void {
    this.#size += bytes
    if (this.#size > this.#maxSize) throw this.#refusal(`is larger than ${this.#maxSize} bytes`)
  }

  #object(value: object): object {
    if (value instanceof Uint8Array) {
      this.#count(value.byteLength)
      return value
    }
    if (value instanceof Date) {
      const time = value.getTime()
      if (Number.isNaN(time)) throw this.#refusal('is an invalid Date')
      return new Date(time)
    }
    const isArray = Array.isArray(value)
    if (!isArray && !isPlain(value))
      throw this.#refusal(`is ${describe(value)}: messages carry plain objects, arrays, text, numbers, booleans, null, Buffers and Dates`)
    if (this.#within.includes(value)) throw this.#refusal('holds itself: messages cannot carry circles')
    if (this.#within.length >= MAX_DEPTH) throw this.#refusal(`is nested more than ${MAX_DEPTH} deep`)
    this.#within.push(value)
    const copy = isArray ? this.#array(value) : this.#map(value)
    this.#within.pop()
    return copy
  }

  #array(list: readonly unknown[]): unknown[] {
    const { length } = list
    const copy: unknown[] = []
    for (let i = 0; i < length; i++) {
      this.#path.push(i)
      copy.push(this.#value(list[i]))
      this.#path.pop()
    }
    return copy
  }

  /** Reads each property once: a getter is called once, and what was checked is what is packed. */
  #map(object: Record<string, unknown>): object {
    const copy: Record<string, unknown> = {}
    for (const key of Object.keys(object)) {
      const given = object[key]
      if (given === undefined) continue
      this.#path.push(key)
      this.#text(key)
      const value = this.#value(given)
      // To assign an inherited name may set the prototype, or nothing.
      if (key in copy) Object.defineProperty(copy, key, { value, enumerable: true })
      else copy[key] = value
      this.#path.pop()
    }
    return copy
  }
}

/**
 * Encodes a value. `root` is what the value is called in an error's path.
 *
 * @throws {SerializationError} something in it cannot be carried exactly, or it is larger than `maxSize` bytes
 */
export const pack = (value: unknown, root: string, maxSize: number): Buffer => {
  const copy = new Copier(root, maxSize).copy(value)
  packr.useBuffer(scratch)
  const packed = packr.pack(copy)
  packr.useBuffer(scratch)
  if (packed.length > maxSize) throw new SerializationError(`${root === '' ? 'The message' : root} is larger than ${maxSize} bytes.`)
  return Buffer.from(packed)
}
