/**
 * Plain data → bytes in one pass: judged, copied and written at once. Values of any other kind end the pass; what has been read by then
 * is handed on, because getters are to be called once.
 */
import { types } from 'node:util'
import { isPolluted } from '../exactness.js'
import { type Shape, Shapes } from './shapes.js'
import { textRoom, writeText } from './text.js'
import * as words from './words.js'

/** What `write` gives for values that are not plain. */
export const NOT_PLAIN = -1

/** Any word, and a short text, fits into it. */
const ROOM = 144
/** The buffer is reused, so that no encoded body pins more than its own bytes; after a large value it is let go. */
const USUAL = 65_536
const KEEP = 1_048_576
/** Up to so many objects are found again by a scan, which costs less than hashing them. */
const SCANNED = 64

const objectPrototype = Object.prototype
const { getPrototypeOf, values } = Object
const tag = objectPrototype.toString

const shapes = new Shapes()
let messages = 0

export class PlainWriter {
  /** Valid until the next `write`. */
  bytes = Buffer.allocUnsafeSlow(USUAL)
  /** Something appeared twice. */
  same = false
  /** The objects in the order in which they were met, what they held, and for those that are no arrays under which keys. */
  readonly #met: object[] = []
  readonly #held: (unknown[] | undefined)[] = []
  readonly #keys: (Shape | string[] | undefined)[] = []
  #count = 0
  #index: Map<object, number> | undefined
  #depth = 0
  #message = 0
  #shapes = 0

  static #idle: PlainWriter | undefined

  /** One to use; a getter in the value may make us need a second before the first is given back. */
  static take(): PlainWriter {
    const writer = PlainWriter.#idle ?? new PlainWriter()
    PlainWriter.#idle = undefined
    return writer
  }

  giveBack(): void {
    // By hand: setting an array's `length` costs more than the few there mostly are.
    for (let i = 0; i < this.#count; i++) {
      this.#met[i] = nothing
      this.#held[i] = this.#keys[i] = undefined
    }
    if (this.#index !== undefined) {
      this.#index = undefined
      this.#met.length = this.#held.length = this.#keys.length = 0
    }
    this.#count = 0
    this.#depth = 0
    this.same = false
    if (this.bytes.length > KEEP) this.bytes = Buffer.allocUnsafeSlow(USUAL)
    PlainWriter.#idle = this
  }

  /** Writes the value from `at` on, and gives the place behind it, or NOT_PLAIN. A getter's error comes through. */
  write(value: unknown, at: number): number {
    if (isPolluted()) return NOT_PLAIN
    shapes.settle()
    this.#message = ++messages
    this.#shapes = 0
    return this.#value(value, at)
  }

  /** Copies of the objects that were read before the pass ended. */
  taken(): Map<object, object> {
    const copies = new Map<object, object>()
    for (let i = 0; i < this.#count; i++) {
      const held = this.#held[i]
      if (held === undefined) continue
      const keys = this.#keys[i]
      copies.set(this.#met[i]!, keys === undefined ? held : objectOf(Array.isArray(keys) ? keys : keys.keys(), held))
    }
    return copies
  }

  #value(value: unknown, at: number): number {
    this.#room(at, ROOM)
    const bytes = this.bytes
    switch (typeof value) {
      case 'string':
        if (value.length > words.SHORT_TEXT) this.#room(at, textRoom(value))
        return writeText(this.bytes, at, value)
      case 'number':
        return this.#number(value, at)
      case 'object':
        if (value !== null) return this.#object(value, at)
        bytes[at] = words.NULL
        return at + 1
      case 'boolean':
        bytes[at] = value ? words.TRUE : words.FALSE
        return at + 1
      case 'undefined':
        bytes[at] = words.UNDEFINED
        return at + 1
      default:
        return NOT_PLAIN
    }
  }

  #number(value: number, at: number): number {
    const bytes = this.bytes
    const integer = value | 0
    if (integer !== value || (integer === 0 && 1 / value < 0)) {
      bytes[at] = words.DOUBLE
      bytes.writeDoubleLE(value, at + 1)
      return at + 9
    }
    if (integer >= 0 && integer <= words.LAST_SMALL) {
      bytes[at] = integer
      return at + 1
    }
    bytes[at + 1] = integer
    bytes[at + 2] = integer >> 8
    if ((integer << 16) >> 16 === integer) {
      bytes[at] = words.INT16
      return at + 3
    }
    bytes[at] = words.INT32
    bytes[at + 3] = integer >> 16
    bytes[at + 4] = integer >> 24
    return at + 5
  }

  #object(value: object, at: number): number {
    if (types.isProxy(value)) return NOT_PLAIN
    const before = this.#find(value)
    if (before >= 0) {
      this.same = true
      this.bytes[at] = words.SAME
      this.bytes.writeUInt32LE(before, at + 1)
      return at + 5
    }
    if (this.#depth === words.DEEPEST) return NOT_PLAIN
    let end: number
    this.#depth++
    if (Array.isArray(value)) end = this.#array(value, at)
    else if (getPrototypeOf(value) === objectPrototype && tag.call(value) === '[object Object]') end = this.#record(value, at)
    else if (types.isDate(value)) end = this.#date(value, at)
    else return NOT_PLAIN
    this.#depth--
    return end
  }

  #array(value: unknown[], at: number): number {
    // The cheapest way to count an array's enumerable properties, and the copy in the same go.
    const held: unknown[] = values(value)
    const count = held.length
    if (count !== value.length) return NOT_PLAIN
    for (let i = 0; i < count; i++) if (value[i] === undefined && !Object.hasOwn(value, i)) return NOT_PLAIN
    this.#keep(value, held, undefined)
    let to = at + 1
    if (count <= words.FEW) this.bytes[at] = words.ARRAY | count
    else {
      this.bytes[at] = words.LONG_ARRAY
      to = this.bytes.writeUInt32LE(count, to)
    }
    for (let i = 0; i < count; i++) {
      to = this.#value(held[i], to)
      if (to < 0) return to
    }
    return to
  }

  #record(value: object, at: number): number {
    const shape = shapes.of(value)
    if (shape === undefined) return this.#dictionary(value, at)
    const held: unknown[] = values(value)
    const count = held.length
    // A getter has changed its own object.
    if (count !== shape.size) return NOT_PLAIN
    this.#keep(value, held, shape)
    let to = shape.message === this.#message ? this.#known(shape.number, at) : this.#define(shape, at)
    for (let i = 0; i < count; i++) {
      to = this.#value(held[i], to)
      if (to < 0) return to
    }
    return to
  }

  #known(number: number, at: number): number {
    if (number <= words.FEW) {
      this.bytes[at] = words.RECORD | number
      return at + 1
    }
    this.bytes[at] = words.LATER_RECORD
    return this.bytes.writeUInt16LE(number, at + 1)
  }

  #define(shape: Shape, at: number): number {
    const definition = shape.definition()
    this.#room(at, definition.length)
    this.bytes.set(definition, at)
    // Shapes beyond the last number are defined each time.
    if (this.#shapes <= 0xffff) {
      shape.message = this.#message
      shape.number = this.#shapes++
    }
    return at + definition.length
  }

  #dictionary(value: object, at: number): number {
    const keys = Object.keys(value)
    const held: unknown[] = values(value)
    if (held.length !== keys.length) return NOT_PLAIN
    this.#keep(value, held, keys)
    this.bytes[at] = words.DICTIONARY
    let to = this.bytes.writeUInt32LE(keys.length, at + 1)
    for (let i = 0; i < keys.length; i++) {
      this.#room(to, textRoom(keys[i]!))
      to = this.#value(held[i], writeText(this.bytes, to, keys[i]!))
      if (to < 0) return to
    }
    return to
  }

  #date(value: Date, at: number): number {
    this.#keep(value, undefined, undefined)
    this.bytes[at] = words.DATE
    return this.bytes.writeDoubleLE(Date.prototype.getTime.call(value), at + 1)
  }

  #find(value: object): number {
    if (this.#index !== undefined) return this.#index.get(value) ?? -1
    const met = this.#met
    for (let i = 0; i < this.#count; i++) if (met[i] === value) return i
    return -1
  }

  #keep(value: object, held: unknown[] | undefined, keys: Shape | string[] | undefined): void {
    const number = this.#count++
    this.#met[number] = value
    this.#held[number] = held
    this.#keys[number] = keys
    if (this.#index !== undefined) this.#index.set(value, number)
    else if (number === SCANNED) this.#index = new Map(this.#met.slice(0, this.#count).map((object, i) => [object, i]))
  }

  #room(at: number, bytes: number): void {
    if (at + bytes <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(2 * (at + bytes))
    this.bytes.copy(larger, 0, 0, at)
    this.bytes = larger
  }
}

const nothing = {}

/** As a literal would: `__proto__` is a key like any other. */
const objectOf = (keys: readonly string[], held: readonly unknown[]): object => Object.fromEntries(keys.map((key, i) => [key, held[i]]))
