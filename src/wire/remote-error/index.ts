/** What a task throws ↔ bytes. */
import { types } from 'node:util'
import { decode, type Encoded, encode } from '../codec/index.js'

export { appendCallerStack } from './caller-stack.js'

const options = { lenient: true, copyBinaries: true, root: 'error' } as const

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

/** Encodes anything thrown behind `reserve` free bytes. Never throws: what cannot be sent inside an error is replaced, one by one, by a note. */
export const encodeError = (thrown: unknown, reserve: number): Encoded => {
  if (!types.isProxy(thrown)) {
    try {
      return encode(thrown, reserve, options)
    } catch {
      // Nested too deeply, for one.
    }
  }
  return encode(bare(thrown), reserve, options)
}

/** Decodes what `encodeError` made: an error of its built-in class (or of prefork's own), with name, code, cause and own properties. */
export const decodeError = (bytes: Buffer, offset: number): unknown => decode(bytes, offset)
