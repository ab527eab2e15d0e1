/** The shapes that have come in: a definition that has been read is not read again. Kept by its bytes, so that no message depends on another. */
import type { PlainReader } from './reader.js'

export interface KnownShape {
  readonly keys: readonly string[]
  /** Assigning to any of them makes a property; `__proto__`, or a name that Object.prototype has, would do something else. */
  readonly ordinary: boolean
  readonly definition: Buffer
}

/** Slots: two shapes that share one displace each other. */
const SLOTS = 512
const slots: (KnownShape | undefined)[] = new Array(SLOTS).fill(undefined)

export const isOrdinary = (key: string): boolean => !(key in Object.prototype)

/** The shape whose definition lies at `start..end`; `read` reads its keys. */
export const knownShape = (bytes: Buffer, start: number, end: number, count: number, reader: PlainReader): KnownShape => {
  let hash = count
  for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + bytes[i]!) | 0
  const slot = hash & (SLOTS - 1)
  const known = slots[slot]
  if (known !== undefined && known.keys.length === count && isSame(known.definition, bytes, start, end)) return known
  const keys = reader.keys(start, end, count)
  const shape = { keys, ordinary: keys.every(isOrdinary), definition: Buffer.from(bytes.subarray(start, end)) }
  slots[slot] = shape
  return shape
}

const isSame = (definition: Buffer, bytes: Buffer, start: number, end: number): boolean => {
  if (definition.length !== end - start) return false
  for (let i = 0; i < definition.length; i++) if (definition[i] !== bytes[start + i]) return false
  return true
}
