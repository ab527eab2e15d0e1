/** Texts ↔ bytes, with one byte for each unit or with two, as V8 keeps them: exact for every text, and the fastest to read and write. */
import { LONG_TEXT, MAX_SHORT_TEXT, TEXT, WIDE_TEXT } from './opcodes.js'

const WIDE = /[^\0-\xff]/

/** Bytes that a text takes, at most. */
export const maxTextBytes = (text: string): number => 5 + 2 * text.length

/** Writes a text, for which there must be room, and returns the place behind it. */
export const writeText = (bytes: Buffer, at: number, text: string): number => {
  const length = text.length
  if (length > MAX_SHORT_TEXT) return writeLongText(bytes, at, text)
  let to = at + 1
  // A call into Node would cost more than the loop.
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 0xff) return writeUnits(bytes, at, text, WIDE_TEXT, 'utf16le')
    bytes[to++] = unit
  }
  bytes[at] = TEXT | length
  return to
}

/** V8 knows that a one-byte string cannot match, so the test is free for it. */
const writeLongText = (bytes: Buffer, at: number, text: string): number =>
  WIDE.test(text) ? writeUnits(bytes, at, text, WIDE_TEXT, 'utf16le') : writeUnits(bytes, at, text, LONG_TEXT, 'latin1')

const writeUnits = (bytes: Buffer, at: number, text: string, opcode: number, encoding: 'latin1' | 'utf16le'): number => {
  bytes[at] = opcode
  bytes.writeUInt32LE(text.length, at + 1)
  return at + 5 + bytes.write(text, at + 5, encoding)
}

const { fromCharCode: t } = String

/** Reads a text of one byte for each unit; a short one without a call into Node. */
// biome-ignore format: a table
export const readText = (b: Buffer, i: number, length: number): string => {
  switch (length) {
    case 0: return ''
    case 1: return t(b[i]!)
    case 2: return t(b[i]!, b[i + 1]!)
    case 3: return t(b[i]!, b[i + 1]!, b[i + 2]!)
    case 4: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!)
    case 5: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!)
    case 6: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!)
    case 7: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!)
    case 8: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!)
    case 9: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!, b[i + 8]!)
    case 10: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!, b[i + 8]!, b[i + 9]!)
    case 11: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!, b[i + 8]!, b[i + 9]!, b[i + 10]!)
    case 12: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!, b[i + 8]!, b[i + 9]!, b[i + 10]!, b[i + 11]!)
    case 13: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!, b[i + 8]!, b[i + 9]!, b[i + 10]!, b[i + 11]!, b[i + 12]!)
    case 14: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!, b[i + 8]!, b[i + 9]!, b[i + 10]!, b[i + 11]!, b[i + 12]!, b[i + 13]!)
    case 15: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!, b[i + 8]!, b[i + 9]!, b[i + 10]!, b[i + 11]!, b[i + 12]!, b[i + 13]!, b[i + 14]!)
    case 16: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!, b[i + 8]!, b[i + 9]!, b[i + 10]!, b[i + 11]!, b[i + 12]!, b[i + 13]!, b[i + 14]!, b[i + 15]!)
    case 17: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!, b[i + 8]!, b[i + 9]!, b[i + 10]!, b[i + 11]!, b[i + 12]!, b[i + 13]!, b[i + 14]!, b[i + 15]!, b[i + 16]!)
    case 18: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!, b[i + 8]!, b[i + 9]!, b[i + 10]!, b[i + 11]!, b[i + 12]!, b[i + 13]!, b[i + 14]!, b[i + 15]!, b[i + 16]!, b[i + 17]!)
    case 19: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!, b[i + 8]!, b[i + 9]!, b[i + 10]!, b[i + 11]!, b[i + 12]!, b[i + 13]!, b[i + 14]!, b[i + 15]!, b[i + 16]!, b[i + 17]!, b[i + 18]!)
    case 20: return t(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!, b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 7]!, b[i + 8]!, b[i + 9]!, b[i + 10]!, b[i + 11]!, b[i + 12]!, b[i + 13]!, b[i + 14]!, b[i + 15]!, b[i + 16]!, b[i + 17]!, b[i + 18]!, b[i + 19]!)
    default: return b.toString('latin1', i, i + length)
  }
}
