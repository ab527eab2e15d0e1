/** Bytes → plain data. The bytes may be anything: no length is believed before it has been held against what there is. */
import type { Received } from '../received.js'
import { isOrdinary, type KnownShape, knownShape } from './known-shapes.js'
import * as words from './opcodes.js'
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
  /** The objects by number, if any is named again. */
  readonly #met: object[] | undefined
  readonly #binaries: Received | undefined
  readonly #shapes: KnownShape[] = []
  #depth = 0

  constructor(bytes: Buffer, start: number, end: number, same: boolean, binaries: Received | undefined) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
    this.#met = same ? [] : undefined
    this.#binaries = binaries
  }

  /** The one value that the bytes hold. */
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
    const word = this.#bytes[at]!
    if (word <= words.LAST_SMALL) return word
    if (word < words.RECORD) return this.#text(word & words.SHORT_TEXT)
    if (word < words.ARRAY) return this.#record(this.#shapes[word & words.FEW] ?? damaged())
    if (word < words.UNDEFINED) return this.#array(word & words.FEW)
    switch (word) {
      case words.UNDEFINED:
        return undefined
      case words.NULL:
        return null
      case words.FALSE:
        return false
      case words.TRUE:
        return true
      case words.INT16:
        return this.#bytes.readInt16LE(this.#take(2))
      case words.INT32:
        return this.#bytes.readInt32LE(this.#take(4))
      case words.DOUBLE:
        return this.#bytes.readDoubleLE(this.#take(8))
      case words.LONG_TEXT:
        return this.#text(this.#length())
      case words.WIDE_TEXT:
        return this.#wideText()
      case words.LONG_ARRAY:
        return this.#array(this.#length())
      case words.SHAPE:
        return this.#defined()
      case words.LATER_RECORD:
        return this.#record(this.#shapes[this.#bytes.readUInt16LE(this.#take(2))] ?? damaged())
      case words.DICTIONARY:
        return this.#dictionary()
      case words.DATE:
        return this.#keep(new Date(this.#bytes.readDoubleLE(this.#take(8))))
      case words.SAME:
        return this.#met?.[this.#length()] ?? damaged()
      case words.MAP:
        return this.#map()
      case words.SET:
        return this.#set()
      case words.BIGINT:
        return this.#bigint()
      case words.BINARY:
        return this.#binary()
      default:
        return damaged()
    }
  }

  /** The place of the next so many bytes, which are there. */
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
    const word = this.#bytes[this.#take(1)]!
    if (word >= words.TEXT && word < words.RECORD) return this.#text(word & words.SHORT_TEXT)
    if (word === words.LONG_TEXT) return this.#text(this.#length())
    return word === words.WIDE_TEXT ? this.#wideText() : damaged()
  }

  #keep<T extends object>(object: T): T {
    this.#met?.push(object)
    return object
  }

  #enter(): void {
    if (++this.#depth > words.DEEPEST) damaged()
  }

  #array(count: number): unknown[] {
    this.#enter()
    let array: unknown[]
    // Literals, because an array that grows takes room for seventeen at first.
    if (this.#met !== undefined || count > 3) array = this.#grown(count)
    else if (count === 0) array = []
    else if (count === 1) array = [this.#value()]
    else if (count === 2) array = [this.#value(), this.#value()]
    else array = [this.#value(), this.#value(), this.#value()]
    this.#depth--
    return array
  }

  /** Grown by its elements, whatever length is claimed. */
  #grown(count: number): unknown[] {
    const array: unknown[] = this.#keep([])
    for (let i = 0; i < count; i++) array.push(this.#value())
    return array
  }

  #defined(): object {
    const size = this.#bytes.readUInt16LE(this.#take(2))
    const count = this.#bytes[this.#take(1)]!
    const start = this.#take(size)
    const shape = knownShape(this.#bytes, start, start + size, count, this)
    this.#shapes.push(shape)
    return this.#record(shape)
  }

  #record(shape: KnownShape): object {
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
