/**
 * Numbers ↔ bytes, little-endian, for what every job writes and reads. A method of Buffer calls up to six functions to check its
 * arguments, which costs a job that comes alone more than the number. Nothing is checked here: the bytes must be there.
 */

const scratch = new DataView(new ArrayBuffer(8))
const scratchBytes = new Uint8Array(scratch.buffer)

/** The low 16 bits of `value`. */
export const writeU16 = (to: Uint8Array, at: number, value: number): void => {
  to[at] = value
  to[at + 1] = value >>> 8
}

/** The low 32 bits of `value`. */
export const writeU32 = (to: Uint8Array, at: number, value: number): void => {
  to[at] = value
  to[at + 1] = value >>> 8
  to[at + 2] = value >>> 16
  to[at + 3] = value >>> 24
}

export const writeF64 = (to: Uint8Array, at: number, value: number): void => {
  scratch.setFloat64(0, value, true)
  for (let i = 0; i < 8; i++) to[at + i] = scratchBytes[i]!
}

export const readU16 = (from: Uint8Array, at: number): number => from[at]! | (from[at + 1]! << 8)

export const readU32 = (from: Uint8Array, at: number): number => (from[at]! | (from[at + 1]! << 8) | (from[at + 2]! << 16) | (from[at + 3]! << 24)) >>> 0

export const readF64 = (from: Uint8Array, at: number): number => {
  for (let i = 0; i < 8; i++) scratchBytes[i] = from[at + i]!
  return scratch.getFloat64(0, true)
}
