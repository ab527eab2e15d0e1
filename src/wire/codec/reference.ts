/**
 * What is not node:v8's to carry: binaries and errors.
 *
 * In a snapshot a view stands for itself, an ArrayBuffer or an error is stood for by an empty view: views are what
 * node:v8 hands to its delegate. A Map tells what they refer to.
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
  /** What a DOMException cannot be given later: message and name. */
  text: readonly [message: string, name: string] | undefined
}

export type References = Map<object, Reference>

/** A reference to be filled in; always of one shape. */
export const reference = (kind: number, offset: number, elements: number): Reference => ({ kind, index: 0, offset, elements, text: undefined })

export const KIND_ERROR = 100
export const KIND_ARRAY_BUFFER = 101
export const KIND_BUFFER = 102
export const LENGTH_TRACKING = 0xffffffff

/** The views there are; a view's kind is its place here. Append only. */
export const VIEW_NAMES = [
  'DataView',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int8Array',
  'Uint16Array',
  'Int16Array',
  'Uint32Array',
  'Int32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
  'Float16Array',
] as const
