/** Bytes → plain data. The bytes may be anything: every length is checked against the bytes that there are. */
import type { BlobReader } from '../blob-reader.js'
import * as opcodes from './opcodes.js'
import { type CachedShape, cachedShape, isOrdinary } from './shape-cache.js'
import { readText } from './text.js'

const damaged = (): never => {
  throw new Error('damaged plain content')
}

const define = (object: object, key: string, value: unknown): void => {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}

export class PlainReader {
  readonly #bytes: Buffer
  #at: number
  readonly #end: number
  /** The objects by number, if there are back references. */
  readonly #objects: object[] | undefined
  readonly #binaries: BlobReader | undefined
  readonly #shapes: CachedShape[] = []
  #depth = 0

  constructor(bytes: Buffer, start: number, end: number, hasBackReferences: boolean, binaries: BlobReader | undefined) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
    this.#objects = hasBackReferences ? [] : undefined
    this.#binaries = binaries
  }

  /** The value that the bytes hold. */
  read(): unknown {
    const value = this.#value()
    return this.#at === this.#end ? value : damaged()
  }

  /** The keys of a definition. */
  keys(start: number, end: number, count: number): string[] {
    const reader = new PlainReader(this.#bytes, start, end, false, undefined)
    const keys: string[] = []
    for (let i = 0; i < count; i++) keys.push(reader.#key())
    return reader.#at === end && new Set(keys).size === count ? keys : damaged()
  }

  #value(): unknown {
    const at = this.#take(1)
    const opcode = this.#bytes[at]!
    if (opcode <= opcodes.MAX_SMALL_INTEGER) return opcode
    if (opcode < opcodes.RECORD) return this.#text(opcode & opcodes.MAX_SHORT_TEXT)
    if (opcode < opcodes.ARRAY) return this.#record(this.#shapes[opcode & opcodes.MAX_INLINE_COUNT] ?? damaged())
    if (opcode < opcodes.UNDEFINED) return this.#array(opcode & opcodes.MAX_INLINE_COUNT)
    switch (opcode) {
      case opcodes.UNDEFINED:
        return undefined
      case opcodes.NULL:
        return null
      case opcodes.FALSE:
        return false
      case opcodes.TRUE:
        return true
      case opcodes.INT16:
        return this.#bytes.readInt16LE(this.#take(2))
      case opcodes.INT32:
        return this.#bytes.readInt32LE(this.#take(4))
      case opcodes.DOUBLE:
        return this.#bytes.readDoubleLE(this.#take(8))
      case opcodes.LONG_TEXT:
        return this.#text(this.#length())
      case opcodes.WIDE_TEXT:
        return this.#wideText()
      case opcodes.LONG_ARRAY:
        return this.#array(this.#length())
      case opcodes.SHAPE:
        return this.#defined()
      case opcodes.LONG_RECORD:
        return this.#record(this.#shapes[this.#bytes.readUInt16LE(this.#take(2))] ?? damaged())
      case opcodes.DICTIONARY:
        return this.#dictionary()
      case opcodes.DATE:
        return this.#keep(new Date(this.#bytes.readDoubleLE(this.#take(8))))
      case opcodes.BACK_REFERENCE:
        return this.#objects?.[this.#length()] ?? damaged()
      case opcodes.MAP:
        return this.#map()
      case opcodes.SET:
        return this.#set()
      case opcodes.BIGINT:
        return this.#bigint()
      case opcodes.BINARY:
        return this.#binary()
      default:
        return damaged()
    }
  }

  /** Advances by so many bytes, which must be there, and returns the place of the first. */
  #take(bytes: number): number {
    const at = this.#at
    const next = at + bytes
    if (next > this.#end) damaged()
    this.#at = next
    return at
  }

  #length(): number {
    return this.#bytes.readUInt32LE(this.#take(4))
  }

  #text(length: number): string {
    return readText(this.#bytes, this.#take(length), length)
  }

  #wideText(): string {
    const bytes = 2 * this.#length()
    const at = this.#take(bytes)
    return this.#bytes.toString('utf16le', at, at + bytes)
  }

  #key(): string {
    const opcode = this.#bytes[this.#take(1)]!
    if (opcode >= opcodes.TEXT && opcode < opcodes.RECORD) return this.#text(opcode & opcodes.MAX_SHORT_TEXT)
    if (opcode === opcodes.LONG_TEXT) return this.#text(this.#length())
    return opcode === opcodes.WIDE_TEXT ? this.#wideText() : damaged()
  }

  #keep<T extends object>(object: T): T {
    this.#objects?.push(object)
    return object
  }

  #enter(): void {
    if (++this.#depth > opcodes.MAX_DEPTH) damaged()
  }

  #array(count: number): unknown[] {
    this.#enter()
    let array: unknown[]
    // Literals: an array that grows gets memory for seventeen elements at first.
    if (this.#objects !== undefined || count > 3) array = this.#grown(count)
    else if (count === 0) array = []
    else if (count === 1) array = [this.#value()]
    else if (count === 2) array = [this.#value(), this.#value()]
    else array = [this.#value(), this.#value(), this.#value()]
    this.#depth--
    return array
  }

  /** Grows with its elements: `count` may be wrong. */
  #grown(count: number): unknown[] {
    const array: unknown[] = this.#keep([])
    for (let i = 0; i < count; i++) array.push(this.#value())
    return array
  }

  #defined(): object {
    const size = this.#bytes.readUInt16LE(this.#take(2))
    const count = this.#bytes[this.#take(1)]!
    const start = this.#take(size)
    const shape = cachedShape(this.#bytes, start, start + size, count, this)
    this.#shapes.push(shape)
    return this.#record(shape)
  }

  #record(shape: CachedShape): object {
    this.#enter()
    const object: Record<string, unknown> = this.#keep({})
    const { keys } = shape
    if (shape.ordinary) for (let i = 0; i < keys.length; i++) object[keys[i]!] = this.#value()
    else for (const key of keys) define(object, key, this.#value())
    this.#depth--
    return object
  }

  #dictionary(): object {
    this.#enter()
    const object: Record<string, unknown> = this.#keep({})
    for (let left = this.#length(); left > 0; left--) {
      const key = this.#key()
      if (isOrdinary(key)) object[key] = this.#value()
      else define(object, key, this.#value())
    }
    this.#depth--
    return object
  }

  #map(): Map<unknown, unknown> {
    this.#enter()
    const map = this.#keep(new Map<unknown, unknown>())
    for (let left = this.#length(); left > 0; left--) {
      const key = this.#value()
      map.set(key, this.#value())
    }
    this.#depth--
    return map
  }

  #set(): Set<unknown> {
    this.#enter()
    const set = this.#keep(new Set<unknown>())
    for (let left = this.#length(); left > 0; left--) set.add(this.#value())
    this.#depth--
    return set
  }

  #bigint(): bigint {
    const negative = this.#bytes[this.#take(1)] === 1
    const magnitude = BigInt(`0x${this.#key()}`)
    return negative ? -magnitude : magnitude
  }

  #binary(): object {
    const at = this.#take(13)
    const bytes = this.#bytes
    if (this.#binaries === undefined) return damaged()
    return this.#keep(this.#binaries.view(bytes[at]!, bytes.readUInt32LE(at + 1), bytes.readUInt32LE(at + 5), bytes.readUInt32LE(at + 9)))
  }
}
