/** Which class instances are data, copied as plain objects, and which stand for a resource of this process. */
import { types } from 'node:util'

/** Classes of Node that `structuredClone` shares, moves or refuses. Since Node 22 node:v8 takes some of them for ordinary objects and would send `{}`. */
const platformClasses = new Set(
  [
    ['Blob', 'File', 'FileHandle', 'MessagePort', 'Socket', 'SocketAddress', 'BlockList'],
    ['KeyObject', 'SecretKeyObject', 'PublicKeyObject', 'PrivateKeyObject', 'CryptoKey', 'X509Certificate'],
    ['Histogram', 'RecordableHistogram', 'IntervalHistogram', 'ELDHistogram'],
    ['ReadableStream', 'WritableStream', 'TransformStream', 'ReadableStreamDefaultReader'],
  ].flat(),
)

/** Prototypes whose instances have been found to be data. */
const dataPrototypes = new WeakSet<object>()

const isNative = (f: unknown): boolean => typeof f === 'function' && Function.prototype.toString.call(f).endsWith('{ [native code] }')

/** Whether the instance is no more than its properties, as far as its prototypes show. */
const looksPlain = (value: object, proto: object): boolean => {
  if (Symbol.toStringTag in value) return false
  for (let p: object | null = proto; p !== null; p = Object.getPrototypeOf(p) as object | null) {
    const maker: unknown = Object.getOwnPropertyDescriptor(p, 'constructor')?.value
    if (typeof maker !== 'function') continue
    if (platformClasses.has(maker.name)) return false
    // A built-in (of this realm or another) other than Object: Intl, WebAssembly, WeakRef, Temporal, Node's own handles …
    if (maker.name !== 'Object' && isNative(maker)) return false
  }
  return true
}

export type Classification = { readonly data: true } | { readonly data: false; readonly why: string; readonly cause?: unknown }
const data: Classification = { data: true }

/** Classifies an instance of a class without a copying rule of its own. */
export const classify = (value: object, proto: object | null): Classification => {
  if (proto !== null && dataPrototypes.has(proto)) return data
  if (types.isArgumentsObject(value) || types.isModuleNamespaceObject(value)) return { data: false, why: 'which cannot be copied' }
  if (proto === null || proto === Object.prototype) return data
  if (looksPlain(value, proto)) {
    dataPrototypes.add(proto)
    return data
  }
  // `structuredClone` decides. Such instances are rare, so its cost does not matter.
  let copy: object
  try {
    copy = structuredClone(value)
  } catch (cause) {
    return { data: false, why: 'which cannot be copied', cause }
  }
  const copied: unknown = Object.getPrototypeOf(copy)
  if (copied !== Object.prototype) return { data: false, why: 'which lives in one process only' }
  dataPrototypes.add(proto)
  return data
}

/** Whether code of the application has given Object.prototype an enumerable property. Then `for in` finds more than an object's own. */
export const isPolluted = (): boolean => {
  for (const _ in Object.prototype) return true
  return false
}
