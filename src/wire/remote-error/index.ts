/** What a task throws ↔ bytes. (First version; the exact one follows behind the same face.) */
import { decode, type Encoded, encode } from '../codec/index.js'

/** Encodes anything thrown; never throws itself. */
export const encodeError = (thrown: unknown, reserve: number): Encoded => {
  try {
    return encode(thrown, reserve)
  } catch {
    return encode(new Error(String(thrown)), reserve)
  }
}

/** Decodes what `encodeError` made. */
export const decodeError = (bytes: Buffer, offset: number): unknown => decode(bytes, offset)

/** Puts the caller's frames below the worker's. */
export const appendCallerStack = (_error: unknown, _callerFrames: string): void => {}
