/**
 * Checks node:v8's bytes before V8 reads them. V8 does not check the numbers in them: an array with holes is allocated with the length that stands there, and
 * arrays within arrays may each have a length of all that is left, so that a few bytes are enough to exhaust the memory of the process. V8 also reads much that
 * v8-content.ts never writes: memory of other threads, WebAssembly, formats of former versions.
 *
 * The bytes are opcodes with operands, whose length follows from the opcode. How they nest is checked by V8.
 */
import { KIND_ERROR } from './reference.js'

/** Longer arrays with holes are dictionaries, whose size is that of their elements; up to here the holes take memory, too. */
export const MAX_HOLES = 32 * 1024 * 1024

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

/** The operands of each opcode that v8-content.ts writes; 0: it does not write this one. */
const operands = new Uint8Array(256)
const define = (what: number, tags: string): void => {
  for (const tag of tags) operands[tag.charCodeAt(0)] = what
}
// Padding, undefined, null, true, false, hole, object, Map, Set, boxed true and false; a boxed text or a pattern, whose text is an opcode of its own.
define(NOTHING, "\0_0TF-o;'yxsR")
// int32, uint32, reference; the ends of an object, a Map and a Set with their sizes.
define(NUMBER, 'IU^{:,')
// The ends of arrays.
define(TWO_NUMBERS, '$@')
define(EIGHT_BYTES, 'NDn')
define(TEXT, '"c')
define(BIG, 'Zz')
define(DENSE, 'A')
define(SPARSE, 'a')
define(HOST, '\\')

const FLAGS_FOLLOW = 'R'.charCodeAt(0)

/** Throws unless the opcodes, from `from` on (behind the header), are known and need no more memory than is allowed. */
export const checkV8Opcodes = (bytes: Buffer, from: number): void => {
  const end = bytes.length
  let at = from
  let dense = 0
  let sparse = 0
  /** The next text is that of a pattern: its flags follow it. */
  let pattern = false

  const number = (): number => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]
      if (byte === undefined || scale > 0xffff_ffff) return damaged()
      value += (byte & 0x7f) * scale
      // As in V8, bits beyond 32 are dropped.
      if (byte < 0x80) return value >>> 0
    }
  }

  /** Skips bytes whose number stands in front of them. */
  const skip = (bits = 0): void => {
    const count = number() >>> bits
    at += count
  }

  while (at < end) {
    const tag = bytes[at++]!
    switch (operands[tag]) {
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
        // Every element is an opcode.
        dense += number()
        if (dense > end) damaged()
        break
      case SPARSE: {
        const length = number()
        if (length <= MAX_HOLES) sparse += length
        if (sparse > MAX_HOLES) damaged()
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
