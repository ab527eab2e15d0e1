/**
 * A large frame by place: its payload lies in memory that the host and one worker share, and the pipe carries where. Two files hold that memory, and each has
 * one writer: a file that both wrote would make the host wait for a write of the worker.
 *
 * frame  = head as ever, with FLAG_PLACED, then what precedes the payload, then the place
 * place  = position in the file u32 | bytes of the payload u32 | stamp u32
 * file   = the first page, then places. In the file itself a place begins with stamp u32 | bytes u32
 *
 * The stamp counts the places of one writer. It shows that the bytes are those that the frame speaks of.
 */

import { ProtocolError } from '../errors.js'
import { readU32, writeU32 } from '../little-endian.js'
import type { SharedFile } from './shared-file.js'

/** In the flags of a frame. */
export const FLAG_PLACED = 128

export const PLACE_BYTES = 12
const BYTES = 4
const STAMP = 8

/** What precedes the payload in the file. */
export const STAMP_BYTES = 8

/** Payloads below this go through the pipe: measured, a copy through the file pays from here on. */
export const PLACED_FROM = 48 * 1024

/** Payloads above this do too, bytes: the whole copy is made in one turn of the event loop. */
const MAX_COPY = 16 * 1024 * 1024

/** The largest payload that goes by place, bytes: two of them find room. `capacity`: bytes for places. */
export const placedUpTo = (capacity: number): number => Math.min(MAX_COPY, capacity / 2)

export const writePlace = (to: Buffer, at: number, position: number, bytes: number, stamp: number): void => {
  writeU32(to, at, position)
  writeU32(to, at + BYTES, bytes)
  writeU32(to, at + STAMP, stamp)
}
export const positionOf = (bytes: Buffer, place: number): number => readU32(bytes, place)
export const placedBytesOf = (bytes: Buffer, place: number): number => readU32(bytes, place + BYTES)
export const stampOf = (bytes: Buffer, place: number): number => readU32(bytes, place + STAMP)

export const writeStamp = (to: Buffer, stamp: number, bytes: number): void => {
  writeU32(to, 0, stamp)
  writeU32(to, BYTES, bytes)
}

/**
 * In the first page of the host's file: the stamp of the last result that the host has read, and its complement, which tells a whole number from one that is being
 * written.
 */
const COUNTER_BYTES = 8
const counter = Buffer.alloc(COUNTER_BYTES)

export const noteStamp = (file: SharedFile, stamp: number): void => {
  writeU32(counter, 0, stamp)
  writeU32(counter, BYTES, ~stamp >>> 0)
  file.write([counter], 0, COUNTER_BYTES)
}

/** Undefined: it cannot be read now. */
export const readStamp = (file: SharedFile): number | undefined => {
  if (!file.read([counter], 0, COUNTER_BYTES)) return undefined
  const stamp = readU32(counter, 0)
  return readU32(counter, BYTES) === ~stamp >>> 0 ? stamp : undefined
}

/** Throws ProtocolError if the file holds other bytes than those of this place: a task has closed the descriptor, or opened another file under its number. */
export const checkStamp = (read: Buffer, stamp: number, bytes: number): void => {
  if (readU32(read, 0) !== stamp || readU32(read, BYTES) !== bytes)
    throw new ProtocolError(`The shared memory does not hold the ${bytes} bytes of place ${stamp}.`)
}
