/** The JSON of what goes to a server. It holds what was given, or nothing: what JSON or the server's float64 numbers would alter is refused with its place. */
import { describe, pathText, type Step } from '../../wire/codec/path.js'
import { SerializationError } from '../../wire/errors.js'

/** Arrays and objects within one another, as in a job of any other broker. */
const MAX_DEPTH = 256

/** What to send instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  Date: 'its text (toISOString()) or its time as a number',
  Map: 'an array of its entries, or an object',
  Set: 'an array of its values',
  RegExp: 'its source as a text',
  URL: 'its text (href)',
  Buffer: "its text in base64 (toString('base64')), or a path",
  Uint8Array: 'its text in base64, or a path',
  Error: 'its name and its message',
}

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return true
  // The Object of another realm.
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'hasOwnProperty')
}

class JsonWriter {
  readonly #root: string
  readonly #steps: Step[] = []
  /** The containers on the way to the present value. */
  readonly #open = new Set<object>()

  constructor(root: string) {
    this.#root = root
  }

  #refuse(what: string, why: string): never {
    throw new SerializationError(`${pathText(this.#root, this.#steps)} is ${what}, ${why}`)
  }

  write(value: unknown): string {
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'number':
        return this.#number(value)
      case 'boolean':
        return value ? 'true' : 'false'
      case 'object':
        return value === null ? 'null' : this.#container(value)
      case 'undefined':
        return this.#refuse('undefined', 'which JSON does not have: send null, or leave it out.')
      case 'bigint':
        return this.#refuse('a BigInt', 'which JSON does not have: send it as a text, and read it with BigInt(text) in the task.')
      default:
        return this.#refuse(describe(value), 'which JSON does not have.')
    }
  }

  #text(text: string): string {
    if (LONE_SURROGATE.test(text)) this.#refuse('a text with a lone surrogate', 'which the server replaces by U+FFFD: send well-formed text.')
    return JSON.stringify(text)
  }

  #number(value: number): string {
    if (!Number.isFinite(value)) this.#refuse(String(value), 'which JSON writes as null: send null or a text.')
    if (Object.is(value, -0)) this.#refuse('-0', 'which JSON writes as 0: send 0.')
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER)
      this.#refuse(`the number ${value}`, "which is beyond 2^53 - 1: the server's numbers are doubles, and would round its neighbours. Send it as a text.")
    return String(value)
  }

  #container(value: object): string {
    if (this.#open.has(value)) this.#refuse('a part of itself', 'and JSON has no end for that.')
    if (this.#open.size >= MAX_DEPTH) this.#refuse('nested too deep', `more than ${MAX_DEPTH} arrays and objects within one another.`)
    if (typeof (value as { toJSON?: unknown }).toJSON === 'function' || !(Array.isArray(value) || isPlain(value))) this.#refuseInstance(value)
    this.#open.add(value)
    const text = Array.isArray(value) ? this.#array(value) : this.#object(value as Record<string, unknown>)
    this.#open.delete(value)
    return text
  }

  #refuseInstance(value: object): never {
    const what = describe(value)
    const name = value instanceof Error ? 'Error' : what.replace(/^an? /, '')
    const instead = Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : 'a plain object, an array, a text or a number'
    return this.#refuse(what === 'an Object' ? 'an object with a toJSON()' : what, `which JSON would alter: send ${instead}.`)
  }

  #array(value: readonly unknown[]): string {
    const parts: string[] = []
    for (let index = 0; index < value.length; index++) {
      this.#steps.push(index)
      if (!(index in value)) this.#refuse('a hole of a sparse array', 'which JSON writes as null: send null.')
      parts.push(this.write(value[index]))
      this.#steps.pop()
    }
    const extra = Object.keys(value).length > value.length ? Object.keys(value).find((key) => !(Number(key) < value.length)) : undefined
    if (extra !== undefined) {
      this.#steps.push(extra)
      this.#refuse('a property of an array', 'which JSON leaves out.')
    }
    return `[${parts.join(',')}]`
  }

  #object(value: Readonly<Record<string, unknown>>): string {
    const parts: string[] = []
    for (const key of Object.keys(value)) {
      this.#steps.push(key)
      if (LONE_SURROGATE.test(key)) this.#refuse('a property whose name has a lone surrogate', 'which the server replaces by U+FFFD.')
      parts.push(`${JSON.stringify(key)}:${this.write(value[key])}`)
      this.#steps.pop()
    }
    const symbol = Object.getOwnPropertySymbols(value)[0]
    if (symbol !== undefined) this.#refuse(`an object with the property ${String(symbol)}`, 'which JSON leaves out.')
    return `{${parts.join(',')}}`
  }
}

/**
 * The value as JSON on one line, without white space between its parts.
 *
 * @param root how a message names the value
 * @throws {SerializationError} a part of it would arrive as something else; names the part
 */
export const exactJson = (root: string, value: unknown): string => new JsonWriter(root).write(value)
