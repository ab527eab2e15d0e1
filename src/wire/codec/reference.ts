/**
 * What node:v8 does not encode: binaries and errors.
 *
 * In a snapshot a view stays as it is, and an empty view takes the place of an ArrayBuffer or an error, because node:v8 hands
 * views to its delegate. A Map has the reference of each.
 */
export interface Reference {
  /** One of the kinds below, or an index into VIEW_NAMES. */
  kind: number
  /** Of a binary: index of its blob. Of an error: index of its record. */
  index: number
  /** In the blob. */
  offset: number
  /** Length; LENGTH_TRACKING for a view that grows with its buffer. Of an error: index of its class. */
  elements: number
  /** Message and name of a DOMException, which cannot be set later. */
  text: readonly [message: string, name: string] | undefined
}

export type References = Map<object, Reference>

/** A new reference; all have one hidden class. */
export const reference = (kind: number, offset: number, elements: number): Reference => ({ kind, index: 0, offset, elements, text: undefined })

export const KIND_ERROR = 100
export const KIND_ARRAY_BUFFER = 101
export const KIND_BUFFER = 102
export const LENGTH_TRACKING = 0xffffffff

/** All kinds of views; a view's kind is its index here. Append only. */
// biome-ignore format: a table
export const VIEW_NAMES = [
  'DataView', 'Uint8Array', 'Uint8ClampedArray', 'Int8Array', 'Uint16Array', 'Int16Array', 'Uint32Array', 'Int32Array',
  'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array', 'Float16Array',
] as const
