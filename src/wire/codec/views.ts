import { types } from 'node:util'
import type { BlobWriter, Resizable } from './blob-writer.js'
import { KIND_BUFFER, LENGTH_TRACKING, type Reference, reference, VIEW_NAMES } from './reference.js'

const nameOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype) as object, Symbol.toStringTag)!.get as () => string

/** Whether a view on a resizable buffer grows with it, which can only be found out by a trial. */
const tracksLength = (view: ArrayBufferView, buffer: Resizable): boolean => {
  if (view.byteOffset + view.byteLength + 8 <= buffer.byteLength) return false
  const clone = structuredClone(view)
  const memory = clone.buffer as Resizable & { resize(length: number): void }
  const { byteLength } = clone
  try {
    memory.resize(buffer.byteLength + 8 <= buffer.maxByteLength ? buffer.byteLength + 8 : Math.max(0, buffer.byteLength - 8))
    return clone.byteLength !== byteLength && clone.byteLength !== 0
  } catch {
    return false
  }
}

const kindOf = (view: ArrayBufferView): number => (types.isDataView(view) ? 0 : VIEW_NAMES.indexOf(nameOf.call(view) as (typeof VIEW_NAMES)[number]))

/** The reference for a view, or the reason why it cannot be sent. */
export const viewReference = (view: ArrayBufferView, blobs: BlobWriter): Reference | string => {
  const { buffer } = view
  if (!types.isArrayBuffer(buffer)) return 'on memory shared between threads of one process'
  const resizable = (buffer as Resizable).resizable === true
  if (resizable || buffer.byteLength === 0) {
    // It may be detached, or out of the bounds of a buffer that has shrunk.
    try {
      structuredClone(view)
    } catch {
      return 'on an ArrayBuffer that is detached or has become too short'
    }
  }
  if (Buffer.isBuffer(view)) {
    const to = reference(KIND_BUFFER, view.byteOffset, view.length)
    if (resizable) blobs.addWhole(to, buffer)
    else blobs.addPart(to, view)
    return to
  }
  const kind = kindOf(view)
  if (kind < 0) return 'of a kind that this version does not know'
  const to = reference(kind, view.byteOffset, kind === 0 ? view.byteLength : (view as Uint8Array).length)
  if (resizable && tracksLength(view, buffer as Resizable)) to.elements = LENGTH_TRACKING
  blobs.addWhole(to, buffer)
  return to
}

export const isDetached = (buffer: ArrayBuffer): boolean => {
  try {
    new Uint8Array(buffer)
    return false
  } catch {
    return true
  }
}
