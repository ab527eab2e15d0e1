/**
 * A look at node:v8's bytes before V8 gets them. V8 trusts their numbers more than it should: an array with holes is allocated
 * by the length that it claims, and arrays within arrays may each claim all that is left, so that a few bytes are enough to
 * end the process for want of memory. And it reads much that our writer never writes: memory of other threads, WebAssembly,
 * formats of former versions.
 *
 * The bytes are words, each of which tells its own length; how they nest is V8's to judge.
 */
import { KIND_ERROR } from './reference.js'

/** Longer arrays with holes are kept as dictionaries, which cost what they hold; up to here the holes cost memory, too. */
export const HOLES = 32 * 1024 * 1024

const damaged = (): never => {
  throw new Error('damaged bytes of node:v8')
}

const NOTHING = 1
const NUMBER = 2
const TWO_NUMBERS = 3
const EIGHT_BYTES = 4
const TEXT = 5
const BIG = 6
const DENSE = 7
const SPARSE = 8
const HOST = 9

/** What follows each word that our writer writes. */
const rest = new Uint8Array(256)
const opcodes = (what: number, tags: string): void => {
  for (const tag of tags) rest[tag.charCodeAt(0)] = what
}
// Padding, undefined, null, true, false, hole, object, Map, Set, boxed true and false; a boxed text or a pattern, whose text is a word of its own.
opcodes(NOTHING, "\0_0TF-o;'yxsR")
// int32, uint32, reference; the ends of an object, a Map and a Set with their sizes.
opcodes(NUMBER, 'IU^{:,')
// The ends of arrays.
opcodes(TWO_NUMBERS, '$@')
opcodes(EIGHT_BYTES, 'NDn')
opcodes(TEXT, '"c')
opcodes(BIG, 'Zz')
opcodes(DENSE, 'A')
opcodes(SPARSE, 'a')
opcodes(HOST, '\\')

const FLAGS_FOLLOW = 'R'.charCodeAt(0)

/** Throws unless the words, from `at` on (behind the header), are ours and ask for no more memory than they may. */
export const checkV8Opcodes = (bytes: Buffer, from: number): void => {
  const end = bytes.length
  let at = from
  let dense = 0
  let sparse = 0
  /** A pattern's text has been announced: behind it stand its flags. */
  let pattern = false

  const number = (): number => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]
      if (byte === undefined || scale > 0xffff_ffff) return damaged()
      value += (byte & 0x7f) * scale
      // As V8 does: what is beyond 32 bits is dropped.
      if (byte < 0x80) return value >>> 0
    }
  }

  /** Steps over bytes whose number stands before them. */
  const skip = (bits = 0): void => {
    const count = number() >>> bits
    at += count
  }

  while (at < end) {
    const tag = bytes[at++]!
    switch (rest[tag]) {
      case NOTHING:
        if (tag === FLAGS_FOLLOW) pattern = true
        break
      case TWO_NUMBERS:
        number()
        number()
        break
      case NUMBER:
        number()
        break
      case EIGHT_BYTES:
        at += 8
        break
      case TEXT:
        skip()
        if (pattern) {
          pattern = false
          number()
        }
        break
      case BIG:
        // A bit for the sign, then the number of bytes.
        skip(1)
        break
      case DENSE:
        // Every element is a word.
        dense += number()
        if (dense > end) damaged()
        break
      case SPARSE: {
        const length = number()
        if (length <= HOLES) sparse += length
        if (sparse > HOLES) damaged()
        break
      }
      case HOST: {
        const kind = number()
        number()
        number()
        if (kind !== KIND_ERROR) at += 8
        else for (let text = 0; text < 2; text++) skip()
        break
      }
      default:
        damaged()
    }
  }
  if (at > end) damaged()
}
