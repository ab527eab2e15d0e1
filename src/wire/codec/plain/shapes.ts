/** The shapes that the objects we encode have: a tree of keys, so that an object's own is found while its keys are enumerated, without hashing. */

import { LONGEST_KEY, MOST_KEYS, SHAPE } from './opcodes.js'
import { textRoom, writeText } from './text.js'

/** So many keys are remembered at once. */
const MOST_NODES = 4096

const none = Buffer.alloc(0)

export class Shape {
  readonly key: string
  readonly parent: Shape | undefined
  readonly size: number
  /** The one that was taken last: it mostly is the next one too. */
  next: Shape | undefined
  #others: Map<string, Shape> | undefined
  /** The message that knows this shape, and by which number. */
  message = 0
  number = 0
  #definition = none

  constructor(key: string, parent: Shape | undefined) {
    this.key = key
    this.parent = parent
    this.size = parent === undefined ? 0 : parent.size + 1
  }

  child(key: string): Shape | undefined {
    const child = this.#others?.get(key)
    if (child !== undefined) this.next = child
    return child
  }

  add(key: string): Shape {
    const child = new Shape(key, this)
    this.#others ??= new Map()
    this.#others.set(key, child)
    this.next = child
    return child
  }

  keys(): string[] {
    const keys: string[] = []
    for (let shape: Shape = this; shape.parent !== undefined; shape = shape.parent) keys.push(shape.key)
    return keys.reverse()
  }

  /** SHAPE and what belongs to it, made once. */
  definition(): Buffer {
    if (this.#definition.length > 0) return this.#definition
    const keys = this.keys()
    const bytes = Buffer.allocUnsafe(keys.reduce((sum, key) => sum + textRoom(key), 4))
    let at = 4
    for (const key of keys) at = writeText(bytes, at, key)
    bytes[0] = SHAPE
    bytes.writeUInt16LE(at - 4, 1)
    bytes[3] = keys.length
    this.#definition = Buffer.from(bytes.subarray(0, at))
    return this.#definition
  }
}

export class Shapes {
  root = new Shape('', undefined)
  #nodes = 0
  /** Objects whose shape there was no room for. */
  #strangers = 0

  /** The shape with one key more; undefined: there is none, write a dictionary. */
  step(shape: Shape, key: string): Shape | undefined {
    const known = shape.child(key)
    if (known !== undefined) return known
    if (shape.size === MOST_KEYS || key.length > LONGEST_KEY) return undefined
    if (this.#nodes >= MOST_NODES) {
      this.#strangers++
      return undefined
    }
    this.#nodes++
    return shape.add(key)
  }

  /** Between two messages: forgets all shapes when they are mostly not those that come. */
  settle(): void {
    if (this.#strangers < MOST_NODES) return
    this.root = new Shape('', undefined)
    this.#nodes = 0
    this.#strangers = 0
  }
}
