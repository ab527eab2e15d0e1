/**
 * Plain data → bytes in one pass: judged, copied and written at once. Values of any other kind end the pass; what has been read by then
 * is handed on, because getters are to be called once.
 */
import { types } from 'node:util'
import { isDetached, viewReference } from '../binary.js'
import { Blobs } from '../blobs.js'
import { classify } from '../classify.js'
import { isError } from '../error-record.js'
import { isPolluted } from '../polluted.js'
import { KIND_ARRAY_BUFFER, type Reference, reference } from '../reference.js'
import * as words from './opcodes.js'
import { type Shape, Shapes } from './shapes.js'
import { textRoom, writeText } from './text.js'

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
  /** The binaries that were met. Once they are resolved, `fillReferences` is to be called. */
  blobs: Blobs | undefined
  /** Where the words of binaries stand: their numbers are known once all have been met. */
  #references: { at: number; to: Reference }[] = []
  /** The objects in the order in which they were met. */
  #met: object[] = []
  #index: Map<object, number> | undefined
  /** What was read out of objects other than arrays, one after another: the object, its values, its keys. */
  #log: unknown[] = []
  #logged = 0
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
    // New ones rather than emptied ones: they are as young as what they hold, which spares the engine its notes about old that refers to new.
    this.#met = []
    this.#index = undefined
    this.#log = []
    this.#logged = 0
    this.#depth = 0
    this.same = false
    if (this.blobs !== undefined) {
      this.blobs = undefined
      this.#references = []
    }
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

  fillReferences(): void {
    for (const { at, to } of this.#references) {
      this.bytes.writeUInt32LE(to.index, at + 2)
      this.bytes.writeUInt32LE(to.offset, at + 6)
    }
  }

  /** Copies of the objects that were read before the pass ended, except of arrays, which have no getters. */
  taken(): Map<object, object> {
    const copies = new Map<object, object>()
    const log = this.#log
    for (let end = this.#logged; end > 0; ) {
      const keys = log[end - 1] as Shape | string[]
      const names = Array.isArray(keys) ? keys : keys.keys()
      end -= names.length + 2
      // As a literal would: `__proto__` is a key like any other.
      copies.set(log[end] as object, Object.fromEntries(names.map((key, i) => [key, log[end + 1 + i]])))
    }
    return copies
  }

  #value(value: unknown, at: number): number {
    this.#room(at, ROOM)
    // Not a `switch`, for which the engine makes the name of the type each time.
    if (typeof value === 'string') {
      if (value.length > words.SHORT_TEXT) this.#room(at, textRoom(value))
      return writeText(this.bytes, at, value)
    }
    if (typeof value === 'number') return this.#number(value, at)
    if (typeof value === 'object' && value !== null) return this.#object(value, at)
    if (typeof value === 'bigint') return this.#bigint(value, at)
    const word = value === null ? words.NULL : value === undefined ? words.UNDEFINED : value === true ? words.TRUE : value === false ? words.FALSE : NOT_PLAIN
    if (word < 0) return NOT_PLAIN
    this.bytes[at] = word
    return at + 1
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
    else {
      const prototype = getPrototypeOf(value) as object | null
      end = prototype === objectPrototype && tag.call(value) === '[object Object]' ? this.#record(value, value, at) : this.#other(value, prototype, at)
    }
    this.#depth--
    return end
  }

  #array(value: unknown[], at: number): number {
    // The cheapest way to count an array's enumerable properties, and the copy in the same go.
    const held: unknown[] = values(value)
    const count = held.length
    if (count !== value.length) return NOT_PLAIN
    for (let i = 0; i < count; i++) if (value[i] === undefined && !Object.hasOwn(value, i)) return NOT_PLAIN
    this.#keep(value)
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

  /** `source`: what the properties are read from. */
  #record(value: object, source: object, at: number): number {
    const log = this.#log
    const first = this.#logged + 1
    log[first - 1] = value
    let last = first
    let shape: Shape | undefined = shapes.root
    let keys: string[] | undefined
    // `for in` because the engine then knows where each property lies.
    for (const key in source) {
      const next: Shape | undefined = shape?.next
      if (next !== undefined && next.key === key) shape = next
      else if (keys !== undefined) keys.push(key)
      else {
        const before: Shape = shape!
        shape = shapes.step(before, key)
        if (shape === undefined) keys = [...before.keys(), key]
      }
      log[last++] = (source as Record<string, unknown>)[key]
    }
    log[last] = shape ?? keys
    this.#logged = last + 1
    this.#keep(value)
    let to: number
    if (shape === undefined) return this.#dictionary(keys!, first, at)
    if (shape.message === this.#message) to = this.#known(shape.number, at)
    else to = this.#define(shape, at)
    for (let i = first; i < last; i++) {
      to = this.#value(log[i], to)
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

  #dictionary(keys: readonly string[], first: number, at: number): number {
    this.bytes[at] = words.DICTIONARY
    let to = this.bytes.writeUInt32LE(keys.length, at + 1)
    for (let i = 0; i < keys.length; i++) {
      this.#room(to, textRoom(keys[i]!))
      to = this.#value(this.#log[first + i], writeText(this.bytes, to, keys[i]!))
      if (to < 0) return to
    }
    return to
  }

  #other(value: object, prototype: object | null, at: number): number {
    if (types.isDate(value)) {
      this.#keep(value)
      this.bytes[at] = words.DATE
      return this.bytes.writeDoubleLE(Date.prototype.getTime.call(value), at + 1)
    }
    // Their entries are taken before anything inside is read, whose getters might change them.
    if (types.isMap(value)) return this.#items(value, [...Map.prototype.entries.call(value)].flat(1), words.MAP, 2, at)
    if (types.isSet(value)) return this.#items(value, [...Set.prototype.values.call(value)], words.SET, 1, at)
    if (ArrayBuffer.isView(value)) return this.#binary(value, viewReference(value, this.#blobs()), at)
    if (types.isArrayBuffer(value)) return this.#arrayBuffer(value, at)
    if (types.isSharedArrayBuffer(value) || types.isRegExp(value) || types.isBoxedPrimitive(value) || isError(value)) return NOT_PLAIN
    // What an instance inherits does not travel, but `for in` would find it.
    return classify(value, prototype).data ? this.#record(value, { ...value }, at) : NOT_PLAIN
  }

  #items(value: object, items: readonly unknown[], word: number, each: number, at: number): number {
    this.#keep(value)
    this.bytes[at] = word
    let to = this.bytes.writeUInt32LE(items.length / each, at + 1)
    for (const item of items) {
      to = this.#value(item, to)
      if (to < 0) return to
    }
    return to
  }

  #blobs(): Blobs {
    this.blobs ??= new Blobs()
    return this.blobs
  }

  #arrayBuffer(value: ArrayBuffer, at: number): number {
    if (value.byteLength === 0 && isDetached(value)) return NOT_PLAIN
    const to = reference(KIND_ARRAY_BUFFER, 0, 0)
    this.#blobs().addWhole(to, value)
    return this.#binary(value, to, at)
  }

  #binary(value: object, to: Reference | string, at: number): number {
    if (typeof to === 'string') return NOT_PLAIN
    this.#keep(value)
    this.#references.push({ at, to })
    this.bytes[at] = words.BINARY
    this.bytes[at + 1] = to.kind
    this.bytes.writeUInt32LE(to.elements, at + 10)
    return at + 14
  }

  #bigint(value: bigint, at: number): number {
    const digits = (value < 0n ? -value : value).toString(16)
    this.#room(at, 2 + textRoom(digits))
    this.bytes[at] = words.BIGINT
    this.bytes[at + 1] = value < 0n ? 1 : 0
    return writeText(this.bytes, at + 2, digits)
  }

  #find(value: object): number {
    if (this.#index !== undefined) return this.#index.get(value) ?? -1
    return this.#met.indexOf(value)
  }

  #keep(value: object): void {
    const count = this.#met.push(value)
    if (this.#index !== undefined) this.#index.set(value, count - 1)
    else if (count > SCANNED) this.#index = new Map(this.#met.map((object, i) => [object, i]))
  }

  #room(at: number, bytes: number): void {
    if (at + bytes <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(2 * (at + bytes))
    this.bytes.copy(larger, 0, 0, at)
    this.bytes = larger
  }
}
