/** The shapes of the objects that are encoded: a tree of keys, so that an object's shape is found while its keys are enumerated, without hashing. */
import { MAX_KEY_LENGTH, MAX_KEYS, SHAPE } from './opcodes.js'
import { maxTextBytes, writeText } from './text.js'

/** Keys in the tree, at most. */
const MAX_NODES = 4096

const none = Buffer.alloc(0)

export class Shape {
  readonly key: string
  readonly parent: Shape | undefined
  readonly size: number
  /** The child that was used last, and mostly is the next one to be used. */
  next: Shape | undefined
  #others: Map<string, Shape> | undefined
  /** The message that has the definition of this shape, and the shape's number in it. */
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

  /** SHAPE and its operands; made once. */
  definition(): Buffer {
    if (this.#definition.length > 0) return this.#definition
    const keys = this.keys()
    const bytes = Buffer.allocUnsafe(keys.reduce((sum, key) => sum + maxTextBytes(key), 4))
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
  /** Objects whose shape found no place in the tree. */
  #misses = 0

  /** The shape with one more key; undefined: there is none, and the object is a dictionary. */
  step(shape: Shape, key: string): Shape | undefined {
    const known = shape.child(key)
    if (known !== undefined) return known
    if (shape.size === MAX_KEYS || key.length > MAX_KEY_LENGTH) return undefined
    if (this.#nodes >= MAX_NODES) {
      this.#misses++
      return undefined
    }
    this.#nodes++
    return shape.add(key)
  }

  /** To be called between two messages: drops all shapes when most objects have others. */
  evict(): void {
    if (this.#misses < MAX_NODES) return
    this.root = new Shape('', undefined)
    this.#nodes = 0
    this.#misses = 0
  }
}
