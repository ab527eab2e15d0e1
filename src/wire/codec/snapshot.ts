/**
 * Copies a value that is not plain into one that node:v8 encodes exactly.
 *
 * It is copied because getters must be called once, as by `structuredClone`: what was checked is what is sent.
 * Binaries and errors become references (see reference.ts).
 */
import { types } from 'node:util'
import { SerializationError } from '../errors.js'
import { BlobWriter } from './blob-writer.js'
import { classify, isPolluted } from './classify.js'
import { type ErrorRecord, isError, recordError } from './error-record.js'
import { describe, Entry, pathText, type Step } from './path.js'
import { KIND_ARRAY_BUFFER, type Reference, type References, reference } from './reference.js'
import { MAX_HOLES } from './v8-opcodes.js'
import { isDetached, viewReference } from './views.js'
import { Visited } from './visited.js'

const objectPrototype = Object.prototype
const arrayPrototype = Array.prototype
const { getPrototypeOf, hasOwn } = Object
const tag = objectPrototype.toString

export class Snapshot {
  /** Above 0, what cannot be sent is replaced by a note. Errors raise it for their content, because an error must always arrive. */
  replaceDepth = 0
  blobs: BlobWriter | undefined
  errors: ErrorRecord[] | undefined
  references: References | undefined
  /** Copies, one level deep, of objects that have been read before: their getters must not be called again. */
  knownCopies: ReadonlyMap<object, object> | undefined
  #root = ''
  readonly #visited = new Visited()
  /** Object.prototype has an enumerable property. */
  #polluted = false
  readonly #path: Step[] = []
  #depth = 0
  /** Total length of the arrays with holes: the receiver allocates their full length. */
  #holes = 0

  static #idle: Snapshot | undefined

  /** Returns the idle snapshot, or a new one: a getter in the value may encode another value meanwhile. */
  static acquire(root: string): Snapshot {
    const snapshot = Snapshot.#idle ?? new Snapshot()
    Snapshot.#idle = undefined
    snapshot.#root = root
    snapshot.#polluted = isPolluted()
    return snapshot
  }

  /** To be called when the copy has been used. After an error the snapshot is left to the garbage collector. */
  release(): void {
    this.replaceDepth = 0
    this.blobs = undefined
    this.errors = undefined
    this.references = undefined
    this.knownCopies = undefined
    this.#holes = 0
    this.#visited.clear()
    Snapshot.#idle = this
  }

  #keep<T extends object>(value: object, copy: T): T {
    this.#visited.keep(value, copy)
    return copy
  }

  /** Puts `standIn` into the copy, in place of `value`. */
  refer(value: object, standIn: object, to: Reference): object {
    this.references ??= new Map()
    this.references.set(standIn, to)
    return this.#keep(value, standIn)
  }

  addError(record: ErrorRecord): number {
    this.errors ??= []
    return this.errors.push(record)
  }

  copy(value: unknown, step: Step | undefined): unknown {
    switch (typeof value) {
      case 'string':
      case 'number':
      case 'boolean':
      case 'undefined':
      case 'bigint':
        return value
      case 'object':
        return value === null ? null : this.#object(value, step)
      default:
        return this.refuse(value, step, '')
    }
  }

  /** Copies what `read` gives. A getter that throws is reported with its path. */
  read(step: Step, read: () => unknown): unknown {
    let value: unknown
    try {
      value = read()
    } catch (cause) {
      return this.refuse(undefined, step, 'cannot be read', cause)
    }
    return this.copy(value, step)
  }

  /** Throws a SerializationError, or (`replaceDepth`) gives a note that takes the place of the value. */
  refuse(value: unknown, step: Step | undefined, why: string, cause?: unknown): unknown {
    const what = value === undefined ? why : `is ${describe(value)}${why === '' ? '' : `, ${why}`}`
    if (this.replaceDepth > 0) return `[not sent: ${what}]`
    const steps = this.#path.slice(0, this.#depth)
    if (step !== undefined) steps.push(step)
    const message = `${pathText(this.#root, steps)} ${what}`
    throw new SerializationError(message, {
      cause: cause ?? new DOMException(`${value === undefined ? 'The value' : describe(value)} could not be cloned.`, 'DataCloneError'),
    })
  }

  #object(value: object, step: Step | undefined): unknown {
    if (types.isProxy(value)) return this.refuse(undefined, step, 'is a Proxy')
    const before = this.#visited.find(value)
    if (before !== undefined) return before
    if (step !== undefined) this.#path[this.#depth++] = step
    const prototype: unknown = getPrototypeOf(value)
    let copy: unknown
    if (prototype === objectPrototype && tag.call(value) === '[object Object]') copy = this.#properties(value)
    else if (prototype === arrayPrototype && Array.isArray(value)) copy = this.#array(value)
    else copy = this.#other(value, prototype as object | null)
    if (step !== undefined) this.#depth--
    return copy
  }

  #properties(value: object): unknown {
    let copy: Record<string, unknown>
    try {
      copy = (this.knownCopies?.get(value) as Record<string, unknown> | undefined) ?? { ...value }
    } catch {
      copy = this.#readable(value)
    }
    this.#keep(value, copy)
    if (this.#polluted) {
      for (const key of Object.keys(copy)) this.#property(copy, key)
      return copy
    }
    // `for in` is the fastest: the engine then knows the slot of each property.
    for (const key in copy) {
      const from = copy[key]
      const to = this.copy(from, key)
      if (to !== from) copy[key] = to
    }
    return copy
  }

  /** Slower, but correct for every key. */
  #property(copy: Record<string, unknown>, key: string): void {
    const value = this.copy(copy[key], key)
    Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true })
  }

  /** Reads the properties one by one, to name (or to replace) the one that throws. */
  #readable(value: object): Record<string, unknown> {
    const copy: Record<string, unknown> = {}
    for (const key of Object.keys(value)) {
      let property: unknown
      try {
        property = (value as Record<string, unknown>)[key]
      } catch (cause) {
        property = this.refuse(undefined, key, 'cannot be read', cause)
      }
      Object.defineProperty(copy, key, { value: property, enumerable: true, configurable: true, writable: true })
    }
    return copy
  }

  #array(value: unknown[]): unknown[] {
    const length = value.length
    // The fastest way to copy an array and to count its enumerable properties.
    const copy: unknown[] = Object.values(value)
    if (copy.length !== length) return this.#sparseArray(value, length)
    for (let i = 0; i < length; i++) if (value[i] === undefined && !hasOwn(value, i)) return this.#sparseArray(value, length)
    this.#keep(value, copy)
    for (let i = 0; i < length; i++) {
      const from = copy[i]
      const to = this.copy(from, i)
      if (to !== from) copy[i] = to
    }
    return copy
  }

  #sparseArray(value: unknown[], length: number): unknown[] {
    if (length <= MAX_HOLES) this.#holes += length
    if (this.#holes > MAX_HOLES)
      return this.refuse(undefined, undefined, `and other arrays with holes have more than ${MAX_HOLES} elements together`) as unknown[]
    const copy: unknown[] = []
    copy.length = length
    this.#keep(value, copy)
    const from = value as unknown as Record<string, unknown>
    for (const key of Object.keys(value)) {
      const index = Number(key)
      const isIndex = Number.isInteger(index) && String(index) === key && index >= 0 && index < length
      const item = this.read(isIndex ? index : key, () => from[key])
      Object.defineProperty(copy, key, { value: item, enumerable: true, configurable: true, writable: true })
    }
    return copy
  }

  #other(value: object, prototype: object | null): unknown {
    if (ArrayBuffer.isView(value)) return this.#view(value)
    if (Array.isArray(value)) return this.#array(value)
    if (types.isDate(value)) return this.#keep(value, new Date(Date.prototype.getTime.call(value)))
    if (types.isMap(value)) return this.#map(value)
    if (types.isSet(value)) return this.#set(value)
    if (types.isNativeError(value) || isError(value)) return recordError(this, value, new Uint8Array(0))
    // node:v8 takes patterns and boxed primitives as they are.
    if (types.isRegExp(value)) return this.#keep(value, value)
    if (types.isBoxedPrimitive(value)) return types.isSymbolObject(value) ? this.refuse(value, undefined, '') : this.#keep(value, value)
    if (types.isArrayBuffer(value)) return this.#arrayBuffer(value)
    if (types.isSharedArrayBuffer(value)) return this.refuse(value, undefined, 'which lives in one process only')
    const classification = classify(value, prototype)
    if (classification.data) return this.#properties(value)
    if (classification.cause !== undefined && this.replaceDepth === 0) {
      // Perhaps a part of it cannot be copied: an error then names that part.
      this.#properties(value)
    }
    return this.refuse(value, undefined, classification.why, classification.cause)
  }

  #view(value: ArrayBufferView): unknown {
    this.blobs ??= new BlobWriter()
    const to = viewReference(value, this.blobs)
    return typeof to === 'string' ? this.refuse(value, undefined, to) : this.refer(value, value, to)
  }

  #arrayBuffer(value: ArrayBuffer): unknown {
    if (value.byteLength === 0 && isDetached(value)) return this.refuse(value, undefined, 'which is detached')
    this.blobs ??= new BlobWriter()
    const to = reference(KIND_ARRAY_BUFFER, 0, 0)
    this.blobs.addWhole(to, value)
    return this.refer(value, new Uint8Array(0), to)
  }

  #map(value: Map<unknown, unknown>): Map<unknown, unknown> {
    const copy = new Map<unknown, unknown>()
    this.#keep(value, copy)
    // The entries are read first: getters of a value inside might change the map.
    for (const [key, item] of [...Map.prototype.entries.call(value)]) {
      const name = typeof key === 'object' || typeof key === 'function' ? '…' : typeof key === 'string' ? JSON.stringify(key) : String(key)
      copy.set(this.copy(key, new Entry('<a key>')), this.copy(item, new Entry(`.get(${name})`)))
    }
    return copy
  }

  #set(value: Set<unknown>): Set<unknown> {
    const copy = new Set<unknown>()
    this.#keep(value, copy)
    let i = 0
    for (const item of [...Set.prototype.values.call(value)]) copy.add(this.copy(item, new Entry(`<item ${i++}>`)))
    return copy
  }
}
