/**
 * Plain data → bytes in one pass, which checks and writes at once. A value of another kind ends the pass; copies of the objects
 * that have been read by then are kept, because getters must be called once.
 */
import { types } from 'node:util'
import { BlobWriter } from '../blob-writer.js'
import { classify, isPolluted } from '../classify.js'
import { isError } from '../error-record.js'
import { KIND_ARRAY_BUFFER, type Reference, reference } from '../reference.js'
import { isDetached, viewReference } from '../views.js'
import * as opcodes from './opcodes.js'
import { type Shape, Shapes } from './shapes.js'
import { maxTextBytes, writeText } from './text.js'

/** What `write` returns for a value that is not plain. */
export const NOT_PLAIN = -1

/** Any opcode with its operands, or a short text, fits into so many bytes. */
const MIN_ROOM = 144
/** The buffer is reused, so that an encoded body keeps no more than its own bytes in memory. One larger than MAX_KEPT is freed after use. */
const FIRST_SIZE = 65_536
const MAX_KEPT = 1_048_576
/** Up to so many objects are found by a scan, which costs less than hashing them. */
const MAX_SCANNED = 64

const objectPrototype = Object.prototype
const { getPrototypeOf, values } = Object
const tag = objectPrototype.toString

const shapes = new Shapes()
let messages = 0

export class PlainWriter {
  /** Valid until the next `write`. */
  bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
  /** An object appeared more than once. */
  hasBackReferences = false
  /** The binaries of the value. Once they are resolved, `fillReferences` is to be called. */
  blobs: BlobWriter | undefined
  /** Places of the opcodes of binaries, whose blobs are known only at the end. */
  #references: { at: number; to: Reference }[] = []
  /** The objects in the order in which they were visited. */
  #visited: object[] = []
  #index: Map<object, number> | undefined
  /** What was read from objects other than arrays, one after another: the object, its values, its keys. */
  #log: unknown[] = []
  #logged = 0
  #depth = 0
  #message = 0
  #shapes = 0

  static #idle: PlainWriter | undefined

  /** One for use. A getter in the value may need a second before the first is released. */
  static acquire(): PlainWriter {
    const writer = PlainWriter.#idle ?? new PlainWriter()
    PlainWriter.#idle = undefined
    return writer
  }

  release(): void {
    // New arrays rather than emptied ones: an old array that refers to new objects costs the garbage collector more.
    this.#visited = []
    this.#index = undefined
    this.#log = []
    this.#logged = 0
    this.#depth = 0
    this.hasBackReferences = false
    if (this.blobs !== undefined) {
      this.blobs = undefined
      this.#references = []
    }
    if (this.bytes.length > MAX_KEPT) this.bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
    PlainWriter.#idle = this
  }

  /** Writes the value from `at` on and returns the place behind it, or NOT_PLAIN. Throws what a getter throws. */
  write(value: unknown, at: number): number {
    if (isPolluted()) return NOT_PLAIN
    shapes.evict()
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

  /** Copies of the objects that were read before the pass ended. Arrays, which have no getters, are left out. */
  copies(): Map<object, object> {
    const copies = new Map<object, object>()
    const log = this.#log
    for (let end = this.#logged; end > 0; ) {
      const keys = log[end - 1] as Shape | string[]
      const names = Array.isArray(keys) ? keys : keys.keys()
      end -= names.length + 2
      // Here, `__proto__` is a key like any other.
      copies.set(log[end] as object, Object.fromEntries(names.map((key, i) => [key, log[end + 1 + i]])))
    }
    return copies
  }

  #value(value: unknown, at: number): number {
    this.#reserve(at, MIN_ROOM)
    // Not a `switch` over `typeof`, for which the engine makes the type's name each time.
    if (typeof value === 'string') {
      if (value.length > opcodes.MAX_SHORT_TEXT) this.#reserve(at, maxTextBytes(value))
      return writeText(this.bytes, at, value)
    }
    if (typeof value === 'number') return this.#number(value, at)
    if (typeof value === 'object' && value !== null) return this.#object(value, at)
    if (typeof value === 'bigint') return this.#bigint(value, at)
    const opcode =
      value === null ? opcodes.NULL : value === undefined ? opcodes.UNDEFINED : value === true ? opcodes.TRUE : value === false ? opcodes.FALSE : NOT_PLAIN
    if (opcode < 0) return NOT_PLAIN
    this.bytes[at] = opcode
    return at + 1
  }

  #number(value: number, at: number): number {
    const bytes = this.bytes
    const integer = value | 0
    if (integer !== value || (integer === 0 && 1 / value < 0)) {
      bytes[at] = opcodes.DOUBLE
      bytes.writeDoubleLE(value, at + 1)
      return at + 9
    }
    if (integer >= 0 && integer <= opcodes.MAX_SMALL_INTEGER) {
      bytes[at] = integer
      return at + 1
    }
    bytes[at + 1] = integer
    bytes[at + 2] = integer >> 8
    if ((integer << 16) >> 16 === integer) {
      bytes[at] = opcodes.INT16
      return at + 3
    }
    bytes[at] = opcodes.INT32
    bytes[at + 3] = integer >> 16
    bytes[at + 4] = integer >> 24
    return at + 5
  }

  #object(value: object, at: number): number {
    if (types.isProxy(value)) return NOT_PLAIN
    const before = this.#find(value)
    if (before >= 0) {
      this.hasBackReferences = true
      this.bytes[at] = opcodes.BACK_REFERENCE
      this.bytes.writeUInt32LE(before, at + 1)
      return at + 5
    }
    if (this.#depth === opcodes.MAX_DEPTH) return NOT_PLAIN
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
    if (count <= opcodes.MAX_INLINE_COUNT) this.bytes[at] = opcodes.ARRAY | count
    else {
      this.bytes[at] = opcodes.LONG_ARRAY
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
    // `for in` is the fastest: the engine then knows the slot of each property.
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
    if (number <= opcodes.MAX_INLINE_COUNT) {
      this.bytes[at] = opcodes.RECORD | number
      return at + 1
    }
    this.bytes[at] = opcodes.LONG_RECORD
    return this.bytes.writeUInt16LE(number, at + 1)
  }

  #define(shape: Shape, at: number): number {
    const definition = shape.definition()
    this.#reserve(at, definition.length)
    this.bytes.set(definition, at)
    // Shapes beyond the last number are defined each time.
    if (this.#shapes <= 0xffff) {
      shape.message = this.#message
      shape.number = this.#shapes++
    }
    return at + definition.length
  }

  #dictionary(keys: readonly string[], first: number, at: number): number {
    this.bytes[at] = opcodes.DICTIONARY
    let to = this.bytes.writeUInt32LE(keys.length, at + 1)
    for (let i = 0; i < keys.length; i++) {
      this.#reserve(to, maxTextBytes(keys[i]!))
      to = this.#value(this.#log[first + i], writeText(this.bytes, to, keys[i]!))
      if (to < 0) return to
    }
    return to
  }

  #other(value: object, prototype: object | null, at: number): number {
    if (types.isDate(value)) {
      this.#keep(value)
      this.bytes[at] = opcodes.DATE
      return this.bytes.writeDoubleLE(Date.prototype.getTime.call(value), at + 1)
    }
    // The entries are read first: getters of a value inside might change the collection.
    if (types.isMap(value)) return this.#items(value, [...Map.prototype.entries.call(value)].flat(1), opcodes.MAP, 2, at)
    if (types.isSet(value)) return this.#items(value, [...Set.prototype.values.call(value)], opcodes.SET, 1, at)
    if (ArrayBuffer.isView(value)) return this.#binary(value, viewReference(value, this.#blobs()), at)
    if (types.isArrayBuffer(value)) return this.#arrayBuffer(value, at)
    if (types.isSharedArrayBuffer(value) || types.isRegExp(value) || types.isBoxedPrimitive(value) || isError(value)) return NOT_PLAIN
    // What an instance inherits is not sent, but `for in` would find it.
    return classify(value, prototype).data ? this.#record(value, { ...value }, at) : NOT_PLAIN
  }

  #items(value: object, items: readonly unknown[], opcode: number, each: number, at: number): number {
    this.#keep(value)
    this.bytes[at] = opcode
    let to = this.bytes.writeUInt32LE(items.length / each, at + 1)
    for (const item of items) {
      to = this.#value(item, to)
      if (to < 0) return to
    }
    return to
  }

  #blobs(): BlobWriter {
    this.blobs ??= new BlobWriter()
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
    this.bytes[at] = opcodes.BINARY
    this.bytes[at + 1] = to.kind
    this.bytes.writeUInt32LE(to.elements, at + 10)
    return at + 14
  }

  #bigint(value: bigint, at: number): number {
    const digits = (value < 0n ? -value : value).toString(16)
    this.#reserve(at, 2 + maxTextBytes(digits))
    this.bytes[at] = opcodes.BIGINT
    this.bytes[at + 1] = value < 0n ? 1 : 0
    return writeText(this.bytes, at + 2, digits)
  }

  #find(value: object): number {
    if (this.#index !== undefined) return this.#index.get(value) ?? -1
    return this.#visited.indexOf(value)
  }

  #keep(value: object): void {
    const count = this.#visited.push(value)
    if (this.#index !== undefined) this.#index.set(value, count - 1)
    else if (count > MAX_SCANNED) this.#index = new Map(this.#visited.map((object, i) => [object, i]))
  }

  #reserve(at: number, bytes: number): void {
    if (at + bytes <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(2 * (at + bytes))
    this.bytes.copy(larger, 0, 0, at)
    this.bytes = larger
  }
}
