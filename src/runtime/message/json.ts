/** JSON bodies, for publishers without MessagePack. */
import { isUtf8 } from 'node:buffer'
import { UndecodableError } from '../errors.js'
import { MAX_DEPTH, MAX_VALUES } from './msgpack/format.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Runs before parsing: a body of brackets alone would take 30 times its size in memory. */
const checkNesting = (body: Buffer): void => {
  if (body.length <= MAX_DEPTH) return
  let depth = 0
  let containers = 0
  for (let i = 0; i < body.length; i++) {
    const byte = body[i]!
    if (byte === QUOTE) {
      for (i++; i < body.length && body[i] !== QUOTE; i++) if (body[i] === BACKSLASH) i++
    } else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > MAX_DEPTH) throw new UndecodableError(`The body is nested more than ${MAX_DEPTH} deep.`)
      if (++containers > MAX_VALUES) throw new UndecodableError(`The body holds more than ${MAX_VALUES} arrays and objects.`)
    } else if (byte === 0x5d || byte === 0x7d) {
      depth--
    }
  }
}

/** Parses a JSON body. `__proto__` is a key like any other. Throws UndecodableError. */
export const parseJson = (body: Buffer): unknown => {
  checkNesting(body)
  // Otherwise bytes that are not UTF-8 become U+FFFD, and the job runs with other arguments than were sent.
  if (!isUtf8(body)) throw new UndecodableError('The body is not JSON: it holds bytes that are not UTF-8.')
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch (cause) {
    throw new UndecodableError(`The body is not JSON: ${cause instanceof Error ? cause.message : String(cause)}.`, { cause })
  }
}

/** Whether a body without a content type is JSON: it starts with a brace or white space, as no job in MessagePack does. */
export const looksLikeJson = (body: Buffer): boolean => {
  const first = body[0]
  return first === 0x7b || first === 0x20 || first === 0x0a || first === 0x0d || first === 0x09
}
