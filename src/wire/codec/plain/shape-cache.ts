/** A cache of the shapes that have been read. The key is the bytes of the definition, so that no message depends on another. */
import type { PlainReader } from './reader.js'

export interface CachedShape {
  readonly keys: readonly string[]
  /** Assignment creates a property for each key; `__proto__`, or a name that Object.prototype has, would act otherwise. */
  readonly ordinary: boolean
  readonly definition: Buffer
}

/** Two shapes with one slot replace each other. */
const SLOTS = 512
const slots: (CachedShape | undefined)[] = new Array(SLOTS).fill(undefined)

export const isOrdinary = (key: string): boolean => !(key in Object.prototype)

/** The shape whose definition lies at `start..end`; `read` reads its keys. */
export const cachedShape = (bytes: Buffer, start: number, end: number, count: number, reader: PlainReader): CachedShape => {
  let hash = count
  for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + bytes[i]!) | 0
  const slot = hash & (SLOTS - 1)
  const cached = slots[slot]
  if (cached !== undefined && cached.keys.length === count && isSame(cached.definition, bytes, start, end)) return cached
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
