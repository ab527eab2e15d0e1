/** Values ↔ bytes. (First version: everything by node:v8; the fast and exact one follows behind the same face.) */
import { deserialize, serialize } from 'node:v8'
import { SerializationError } from '../errors.js'

export interface Encoded {
  /** `reserve` free bytes, then the encoded value. */
  readonly body: Buffer
  /** Large binary values that follow the body, in order. */
  readonly binaries: readonly Uint8Array[]
  /** Bytes in all, without the reserve. */
  readonly size: number
}

export interface EncodeOptions {
  /** Copy large binaries instead of referring to the caller's memory. */
  copyBinaries?: boolean
  /** Moved, not copied: detached at the call. */
  transfer?: readonly ArrayBuffer[]
  /** What the value is called in the path of an error, e.g. `args`. */
  root?: string
}

/** Encodes a value behind `reserve` free bytes. */
export const encode = (value: unknown, reserve: number, _options?: EncodeOptions): Encoded => {
  let bytes: Buffer
  try {
    bytes = serialize(value)
  } catch (cause) {
    throw new SerializationError((cause as Error).message, { cause })
  }
  const body = Buffer.allocUnsafe(reserve + bytes.length)
  bytes.copy(body, reserve)
  return { body, binaries: [], size: bytes.length }
}

/** Decodes what `encode` made: `bytes` holds the body from `offset` on and then the binaries. */
export const decode = (bytes: Buffer, offset: number): unknown => {
  try {
    return deserialize(bytes.subarray(offset))
  } catch (cause) {
    throw new SerializationError('a value that cannot be decoded', { cause })
  }
}
