/**
 * What stands in a snapshot for something that neither msgpackr nor node:v8 carries exactly.
 *
 * It is an (empty) ArrayBufferView because those are what node:v8 hands to its delegate, and a class of its own because
 * that is what msgpackr's extensions are chosen by.
 */
export class Carrier extends Uint8Array {
  /** One of the kinds below: the rest are indices into VIEW_NAMES. */
  kind = 0
  /** Of a binary: index of the blob. Of an error: index of its record. */
  index = 0
  offset = 0
  /** Length; LENGTH_TRACKING for a view that grows with its buffer. Of an error: index of its class. */
  elements = 0
  /** What a DOMException cannot be given later. */
  text: readonly [message: string, name: string] | undefined = undefined
}

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
