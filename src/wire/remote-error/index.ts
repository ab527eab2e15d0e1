/** What a task throws ↔ bytes. */
import { types } from 'node:util'
import { decode, type Encoded, encode } from '../codec/index.js'

export { appendCallerStack, withCallerStack } from './caller-stack.js'

const options = { replaceUnsendable: true, copyBinaries: true, root: 'error' } as const

const text = (read: () => unknown): string => {
  try {
    return String(read())
  } catch {
    return ''
  }
}

/** Name, message and stack of something that could not be encoded as it is. */
export const bare = (thrown: unknown): unknown => {
  if (typeof thrown !== 'object' || thrown === null) return text(() => thrown)
  const source = thrown as Record<string, unknown>
  const error = new Error(text(() => source.message))
  const name = text(() => source.name)
  if (name !== '' && name !== 'undefined') error.name = name
  const stack = text(() => source.stack)
  if (stack !== '' && stack !== 'undefined') error.stack = stack
  return error
}

/** Encodes anything thrown behind `reserve` free bytes. Never throws: each part of an error that cannot be sent is replaced by a note. */
export const encodeError = (thrown: unknown, reserve: number): Encoded => {
  if (!types.isProxy(thrown)) {
    try {
      return encode(thrown, reserve, options)
    } catch {
      // Nested too deeply, for example.
    }
  }
  return encode(bare(thrown), reserve, options)
}

/** Decodes what `encodeError` made: an error of its class (built-in, or prefork's), with name, code, cause and own properties. */
export const decodeError = (bytes: Buffer, offset: number): unknown => decode(bytes, offset)
