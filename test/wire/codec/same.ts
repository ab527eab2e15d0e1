/** Compares two values as graphs: types, prototypes, keys and their order, holes, `-0`, and the identity of objects. */
import { types } from 'node:util'

const tagOf = (value: object): string => Object.prototype.toString.call(value)

/** The first difference, as text; undefined: there is none. */
export const difference = (
  a: unknown,
  b: unknown,
  path = 'value',
  visited = new Map<object, object>(),
  back = new Map<object, object>(),
): string | undefined => {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null)
    return Object.is(a, b) ? undefined : `${path}: ${String(a)} is not ${String(b)}`
  if (visited.has(a) || back.has(b)) return visited.get(a) === b && back.get(b) === a ? undefined : `${path}: identity`
  visited.set(a, b)
  back.set(b, a)
  const inner = (x: unknown, y: unknown, step: string): string | undefined => difference(x, y, path + step, visited, back)
  if (tagOf(a) !== tagOf(b)) return `${path}: ${tagOf(a)} is not ${tagOf(b)}`
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return `${path}: prototype`
  if (types.isNativeError(a))
    return inner(a.message, (b as Error).message, '.message') ?? inner(a.stack, (b as Error).stack, '.stack') ?? inner(a.cause, (b as Error).cause, '.cause')
  if (types.isArrayBuffer(a)) {
    const other = b as ArrayBuffer & { resizable?: boolean; maxByteLength?: number }
    const one = a as ArrayBuffer & { resizable?: boolean; maxByteLength?: number }
    if (one.resizable !== other.resizable || one.maxByteLength !== other.maxByteLength) return `${path}: resizable`
    return Buffer.from(a).equals(Buffer.from(other)) ? undefined : `${path}: bytes`
  }
  if (ArrayBuffer.isView(a)) {
    const other = b as ArrayBufferView
    if (a.byteOffset !== other.byteOffset || a.byteLength !== other.byteLength) return `${path}: window`
    return inner(a.buffer, other.buffer, '.buffer')
  }
  if (types.isDate(a)) return inner(a.getTime(), (b as Date).getTime(), '.getTime()')
  if (types.isRegExp(a)) return inner(String(a), String(b), '.source') ?? inner(a.lastIndex, (b as RegExp).lastIndex, '.lastIndex')
  if (types.isBoxedPrimitive(a)) return inner(a.valueOf(), b.valueOf(), '.valueOf()')
  if (types.isMap(a) || types.isSet(a)) {
    const [one, other] = [[...a] as unknown[], [...(b as Set<unknown>)]]
    return (
      inner(one.length, other.length, '.size') ??
      one.flat().reduce<string | undefined>((found, x, i) => found ?? inner(x, other.flat()[i], `<${i}>`), undefined)
    )
  }
  const [keys, otherKeys] = [Reflect.ownKeys(a), Reflect.ownKeys(b)]
  if (keys.length !== otherKeys.length || keys.some((key, i) => key !== otherKeys[i]))
    return `${path}: keys ${keys.map(String).join()} are not ${otherKeys.map(String).join()}`
  for (const key of keys) {
    const found = inner((a as Record<PropertyKey, unknown>)[key], (b as Record<PropertyKey, unknown>)[key], `[${String(key)}]`)
    if (found !== undefined) return found
  }
  return undefined
}
