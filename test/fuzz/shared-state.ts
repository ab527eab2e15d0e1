/** Detects changes of the objects that a whole process shares: received bytes must never change them. */

const shared: Record<string, object> = {
  globalThis,
  Object,
  Array,
  Function,
  Error,
  Map,
  Set,
  Date,
  Promise,
  Buffer,
  JSON,
  Reflect,
  process,
  'process.env': process.env,
  'Object.prototype': Object.prototype,
  'Array.prototype': Array.prototype,
  'Function.prototype': Function.prototype,
  'String.prototype': String.prototype,
  'Number.prototype': Number.prototype,
  'Error.prototype': Error.prototype,
  'TypeError.prototype': TypeError.prototype,
  'Map.prototype': Map.prototype,
  'Set.prototype': Set.prototype,
  'Date.prototype': Date.prototype,
  'RegExp.prototype': RegExp.prototype,
  'Buffer.prototype': Buffer.prototype,
  'Uint8Array.prototype': Uint8Array.prototype,
  'DOMException.prototype': DOMException.prototype,
}
// Methods are objects too: a received name may lead to one, and a property may be written to it.
for (const name of ['Object', 'Array', 'Function', 'Map', 'Set', 'Error'] as const) {
  const { prototype } = globalThis[name]
  for (const key of Object.getOwnPropertyNames(prototype)) {
    const value = Object.getOwnPropertyDescriptor(prototype, key)?.value as unknown
    if (typeof value === 'function') shared[`${name}.prototype.${key}`] = value
  }
}

// Getters are compared, not called: a getter of globalThis may load a module.
const stateOf = (object: object): Map<PropertyKey, unknown> =>
  new Map(
    Reflect.ownKeys(object).map((key) => {
      const { value, get, set } = Object.getOwnPropertyDescriptor(object, key)!
      return [key, get ?? set ?? value]
    }),
  )

const take = (): [string, Map<PropertyKey, unknown>, object | null][] =>
  Object.entries(shared).map(([name, object]) => [name, stateOf(object), Object.getPrototypeOf(object) as object | null])

/** Takes a snapshot; the returned function lists what was added, removed or changed since. */
export const snapshotSharedState = (): (() => string[]) => {
  const before = take()
  return () => {
    const changed: string[] = []
    for (const [index, [name, now, prototype]] of take().entries()) {
      const [, was, prototypeBefore] = before[index]!
      if (prototype !== prototypeBefore) changed.push(`the prototype of ${name}`)
      for (const key of new Set([...was.keys(), ...now.keys()])) {
        // Node sets these when it loads undici.
        if (typeof key === 'symbol' && key.description?.startsWith('undici.')) continue
        if (was.has(key) !== now.has(key) || !Object.is(was.get(key), now.get(key))) changed.push(`${name}.${String(key)}`)
      }
    }
    return changed
  }
}
