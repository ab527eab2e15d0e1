/** Which class instances are data, copied as plain objects, and which are the face of something that lives in this process only. */
import { types } from 'node:util'

/** Classes of Node that `structuredClone` shares, moves or refuses; some look like ordinary objects to node:v8 (since Node 22), which would send `{}`. */
const platform = new Set([
  'Blob',
  'File',
  'MessagePort',
  'KeyObject',
  'SecretKeyObject',
  'PublicKeyObject',
  'PrivateKeyObject',
  'CryptoKey',
  'X509Certificate',
  'BlockList',
  'SocketAddress',
  'Histogram',
  'RecordableHistogram',
  'IntervalHistogram',
  'ELDHistogram',
  'FileHandle',
  'Socket',
  'ReadableStream',
  'WritableStream',
  'TransformStream',
  'ReadableStreamDefaultReader',
])

/** Prototypes whose instances are known to be data. */
const plain = new WeakSet<object>()

const isNative = (f: unknown): boolean => typeof f === 'function' && Function.prototype.toString.call(f).endsWith('{ [native code] }')

/** True if nothing about the prototypes says that the instance is more than its properties. */
const looksPlain = (value: object, proto: object): boolean => {
  if (Symbol.toStringTag in value) return false
  for (let p: object | null = proto; p !== null; p = Object.getPrototypeOf(p) as object | null) {
    const maker: unknown = Object.getOwnPropertyDescriptor(p, 'constructor')?.value
    if (typeof maker !== 'function') continue
    if (platform.has(maker.name)) return false
    // A built-in (of this realm or another) other than Object: Intl, WebAssembly, WeakRef, Temporal, Node's own handles …
    if (maker.name !== 'Object' && isNative(maker)) return false
  }
  return true
}

export type Classification = { readonly data: true } | { readonly data: false; readonly why: string; readonly cause?: unknown }
const data: Classification = { data: true }

/** Judges an instance of a class that is none of the types with a copying rule of their own. */
export const classify = (value: object, proto: object | null): Classification => {
  if (proto !== null && plain.has(proto)) return data
  if (types.isArgumentsObject(value) || types.isModuleNamespaceObject(value)) return { data: false, why: 'which cannot be copied' }
  if (proto === null || proto === Object.prototype) return data
  if (looksPlain(value, proto)) {
    plain.add(proto)
    return data
  }
  // `structuredClone` knows. Such instances are rare, so that its price does not matter.
  let copy: object
  try {
    copy = structuredClone(value)
  } catch (cause) {
    return { data: false, why: 'which cannot be copied', cause }
  }
  const copied: unknown = Object.getPrototypeOf(copy)
  if (copied !== Object.prototype) return { data: false, why: 'which lives in one process only' }
  plain.add(proto)
  return data
}
