/**
 * One walk over a value that is not plain: a copy of it that node:v8 carries exactly.
 *
 * A copy rather than a look, because getters are to be called once, as `structuredClone` does: what was judged is what is sent.
 * Binaries and errors become references (see reference.ts).
 */
import { types } from 'node:util'
import { SerializationError } from '../errors.js'
import { isDetached, viewReference } from './binary.js'
import { Blobs } from './blobs.js'
import { classify } from './classify.js'
import { type ErrorRecord, isError, recordError } from './error-record.js'
import { describe, Entry, pathText, type Step } from './path.js'
import { isPolluted } from './polluted.js'
import { KIND_ARRAY_BUFFER, type Reference, type References, reference } from './reference.js'
import { HOLES } from './v8-opcodes.js'
import { Visited } from './visited.js'

const objectPrototype = Object.prototype
const arrayPrototype = Array.prototype
const { getPrototypeOf, hasOwn } = Object
const tag = objectPrototype.toString

export class Snapshot {
  /** Inside an error: what cannot be sent is replaced by a note, because the error's news must arrive. */
  lenient = 0
  blobs: Blobs | undefined
  errors: ErrorRecord[] | undefined
  references: References | undefined
  /** Copies, one level deep, of objects that have been read before: their getters have been called. */
  taken: ReadonlyMap<object, object> | undefined
  #root = ''
  readonly #met = new Visited()
  /** Somebody has given Object.prototype an enumerable property. */
  #polluted = false
  readonly #path: Step[] = []
  #depth = 0
  /** Elements of arrays with holes, which the receiver allocates by their length. */
  #holes = 0

  static #idle: Snapshot | undefined

  /** One to use; a getter in the value may make us need a second before the first is given back. */
  static take(root: string): Snapshot {
    const snapshot = Snapshot.#idle ?? new Snapshot()
    Snapshot.#idle = undefined
    snapshot.#root = root
    snapshot.#polluted = isPolluted()
    return snapshot
  }

  /** To be called when the copy has been used; after a failure the snapshot is left to the garbage collector. */
  giveBack(): void {
    this.lenient = 0
    this.blobs = undefined
    this.errors = undefined
    this.references = undefined
    this.taken = undefined
    this.#holes = 0
    this.#met.clear()
    Snapshot.#idle = this
  }

  #keep<T extends object>(value: object, copy: T): T {
    this.#met.keep(value, copy)
    return copy
  }

  /** `standIn` goes into the copy, `to` is what it means. */
  refer(value: object, standIn: object, to: Reference): object {
    this.references ??= new Map()
    this.references.set(standIn, to)
    return this.#keep(value, standIn)
  }

  addError(record: ErrorRecord): number {
    this.errors ??= []
    return this.errors.push(record)
  }

  /** The copy of any value. */
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

  /** Copies what `read` gives; a getter that throws is reported with its place. */
  read(step: Step, read: () => unknown): unknown {
    let value: unknown
    try {
      value = read()
    } catch (cause) {
      return this.refuse(undefined, step, 'cannot be read', cause)
    }
    return this.copy(value, step)
  }

  /** Ends the walk, or inside an error puts a note in the place of the value. */
  refuse(value: unknown, step: Step | undefined, why: string, cause?: unknown): unknown {
    const what = value === undefined ? why : `is ${describe(value)}${why === '' ? '' : `, ${why}`}`
    if (this.lenient > 0) return `[not sent: ${what}]`
    const steps = this.#path.slice(0, this.#depth)
    if (step !== undefined) steps.push(step)
    const message = `${pathText(this.#root, steps)} ${what}`
    throw new SerializationError(message, {
      cause: cause ?? new DOMException(`${value === undefined ? 'The value' : describe(value)} could not be cloned.`, 'DataCloneError'),
    })
  }

  #object(value: object, step: Step | undefined): unknown {
    if (types.isProxy(value)) return this.refuse(undefined, step, 'is a Proxy')
    const before = this.#met.find(value)
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
      copy = (this.taken?.get(value) as Record<string, unknown> | undefined) ?? { ...value }
    } catch {
      copy = this.#readable(value)
    }
    this.#keep(value, copy)
    if (this.#polluted) {
      for (const key of Object.keys(copy)) this.#property(copy, key)
      return copy
    }
    // `for in` because the engine then knows where each property lies.
    for (const key in copy) {
      const from = copy[key]
      const to = this.copy(from, key)
      if (to !== from) copy[key] = to
    }
    return copy
  }

  /** The same without haste, for any key. */
  #property(copy: Record<string, unknown>, key: string): void {
    const value = this.copy(copy[key], key)
    Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true })
  }

  /** The properties one by one, to name (or, if lenient, to leave out) the one that throws. */
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
    // The cheapest way to count an array's enumerable properties, and the copy in the same go.
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
    if (length <= HOLES) this.#holes += length
    if (this.#holes > HOLES) return this.refuse(undefined, undefined, `and other arrays with holes have more than ${HOLES} elements together`) as unknown[]
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
    const verdict = classify(value, prototype)
    if (verdict.data) return this.#properties(value)
    if (verdict.cause !== undefined && this.lenient === 0) {
      // Perhaps it is something inside that cannot be copied: that has a better name.
      this.#properties(value)
    }
    return this.refuse(value, undefined, verdict.why, verdict.cause)
  }

  #view(value: ArrayBufferView): unknown {
    this.blobs ??= new Blobs()
    const to = viewReference(value, this.blobs)
    return typeof to === 'string' ? this.refuse(value, undefined, to) : this.refer(value, value, to)
  }

  #arrayBuffer(value: ArrayBuffer): unknown {
    if (value.byteLength === 0 && isDetached(value)) return this.refuse(value, undefined, 'which is detached')
    this.blobs ??= new Blobs()
    const to = reference(KIND_ARRAY_BUFFER, 0, 0)
    this.blobs.addWhole(to, value)
    return this.refer(value, new Uint8Array(0), to)
  }

  #map(value: Map<unknown, unknown>): Map<unknown, unknown> {
    const copy = new Map<unknown, unknown>()
    this.#keep(value, copy)
    // Taken before anything inside is read, whose getters might change the map.
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
