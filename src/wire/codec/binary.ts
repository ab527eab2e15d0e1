/** Views on binary memory. */
import { types } from 'node:util'
import type { Blobs, Resizable } from './blobs.js'
import { Carrier, KIND_BUFFER, LENGTH_TRACKING, VIEW_NAMES } from './carrier.js'

const nameOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype) as object, Symbol.toStringTag)!.get as () => string

/** Does a view on a resizable buffer grow with it? Only trying tells. */
const tracksLength = (view: ArrayBufferView, buffer: Resizable): boolean => {
  if (view.byteOffset + view.byteLength + 8 <= buffer.byteLength) return false
  const twin = structuredClone(view)
  const memory = twin.buffer as Resizable & { resize(length: number): void }
  const { byteLength } = twin
  try {
    memory.resize(buffer.byteLength + 8 <= buffer.maxByteLength ? buffer.byteLength + 8 : Math.max(0, buffer.byteLength - 8))
    return twin.byteLength !== byteLength && twin.byteLength !== 0
  } catch {
    return false
  }
}

/** The carrier of a view, or why there can be none. */
export const viewCarrier = (view: ArrayBufferView, blobs: Blobs): Carrier | string => {
  const { buffer } = view
  if (!types.isArrayBuffer(buffer)) return 'on memory shared between threads of one process'
  const carrier = new Carrier()
  if (buffer.byteLength === 0 || (buffer as Resizable).resizable === true) {
    // Detached, or out of the bounds of a buffer that has shrunk.
    try {
      structuredClone(view)
    } catch {
      return 'on an ArrayBuffer that is detached or has become too short'
    }
  }
  carrier.offset = view.byteOffset
  if (Buffer.isBuffer(view)) {
    carrier.kind = KIND_BUFFER
    carrier.elements = view.length
    if ((buffer as Resizable).resizable === true) blobs.addWhole(carrier, buffer)
    else blobs.addPart(carrier, view)
    return carrier
  }
  if (view instanceof DataView || types.isDataView(view)) {
    carrier.kind = 0
    carrier.elements = view.byteLength
  } else {
    carrier.kind = VIEW_NAMES.indexOf(nameOf.call(view) as (typeof VIEW_NAMES)[number])
    carrier.elements = (view as Uint8Array).length
  }
  if (carrier.kind < 0) return 'of a kind that this version does not know'
  if ((buffer as Resizable).resizable === true && tracksLength(view, buffer as Resizable)) carrier.elements = LENGTH_TRACKING
  blobs.addWhole(carrier, buffer)
  return carrier
}
