import { types } from 'node:util'

const knownPrototypes = new Set<object | null>([
  Object.prototype,
  Array.prototype,
  Map.prototype,
  Set.prototype,
  Date.prototype,
  RegExp.prototype,
  ArrayBuffer.prototype,
  String.prototype,
  Number.prototype,
  Boolean.prototype,
  BigInt.prototype,
])

/** Finds what a decoded value must not contain: functions, accessors, unknown classes, shared objects. Iterative, as values nest deep. */
export const foreignPartsOf = (root: unknown, shared: ReadonlySet<unknown>): string[] => {
  const found: string[] = []
  const seen = new Set<unknown>()
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'function' || typeof value === 'symbol') found.push(typeof value)
    if (typeof value !== 'object' || value === null || seen.has(value)) continue
    seen.add(value)
    if (shared.has(value)) found.push('an object of the process')
    const prototype = Object.getPrototypeOf(value) as object | null
    const error = types.isNativeError(value) || value instanceof DOMException
    if (!error && !ArrayBuffer.isView(value) && !knownPrototypes.has(prototype)) found.push(`an object of the class ${prototype?.constructor?.name}`)
    if (types.isMap(value)) for (const [key, item] of value) waiting.push(key, item)
    else if (types.isSet(value)) waiting.push(...value)
    if (ArrayBuffer.isView(value) || types.isArrayBuffer(value)) continue
    for (const key of Object.keys(value)) {
      if (types.isStringObject(value) && /^\d+$/.test(key)) continue
      const descriptor = Object.getOwnPropertyDescriptor(value, key)!
      if (descriptor.get !== undefined || descriptor.set !== undefined) found.push(`an accessor: ${key}`)
      waiting.push(descriptor.value)
    }
  }
  return found
}
