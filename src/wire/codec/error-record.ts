/** An error as data. Its record stands beside the value, so that an error may hold itself (`cause`, properties). */
import { types } from 'node:util'
import { classOf, DOM_EXCEPTION, isDOMException } from './error-classes.js'
import { KIND_ERROR, reference } from './reference.js'
import type { Snapshot } from './snapshot.js'

/** `hidden`: own properties that are not enumerable, as an ordinary error's. `shown`: those that are. Both names are sent. */
export interface ErrorRecord {
  hidden: Record<string, unknown>
  shown: Record<string, unknown>
}

/** Non-enumerable properties that are sent; of the enumerable ones all are. */
const NON_ENUMERABLE_KEYS = ['cause', 'errors', 'code'] as const

export const isError = (value: object): boolean => types.isNativeError(value) || isDOMException(value)

const textOf = (read: () => unknown, otherwise: string): string => {
  try {
    const value = read()
    return typeof value === 'string' ? value : value === undefined ? otherwise : String(value)
  } catch {
    return otherwise
  }
}

/** Puts the error's record into the snapshot, and `standIn` in the error's place, before anything inside the error is read. */
export const recordError = (snapshot: Snapshot, error: object, standIn: object): object => {
  const to = reference(KIND_ERROR, 0, 0)
  const record: ErrorRecord = { hidden: {}, shown: {} }
  to.index = snapshot.addError(record) - 1
  snapshot.refer(error, standIn, to)
  const source = error as Record<string, unknown>
  const message = textOf(() => source.message, '')
  const name = textOf(() => source.name, 'Error')
  const dom = isDOMException(error)
  let ownName = 'Error'
  if (dom) {
    to.elements = DOM_EXCEPTION
    to.text = [message, name]
  } else {
    const known = classOf(error)
    to.elements = known.index
    ownName = known.name
    if (message !== '' || Object.hasOwn(error, 'message')) record.hidden.message = message
    if (name !== ownName || (Object.hasOwn(error, 'name') && !isEnumerable(error, 'name'))) record.hidden.name = name
  }
  record.hidden.stack = textOf(() => source.stack, `${name}: ${message}`)
  for (const key of NON_ENUMERABLE_KEYS) {
    if (isEnumerable(error, key)) continue
    // An inherited `code` (a getter of the class) is sent, too: code matches on it.
    if (Object.hasOwn(error, key) || (key === 'code' && !dom && key in error)) take(snapshot, record.hidden, source, key)
  }
  for (const key of keysOf(error)) {
    if (key === 'message' || key === 'stack' || (key === 'name' && dom)) continue
    take(snapshot, record.shown, source, key)
  }
  return standIn
}

const isEnumerable = (error: object, key: string): boolean => Object.prototype.propertyIsEnumerable.call(error, key)

const keysOf = (error: object): string[] => {
  try {
    return Object.keys(error)
  } catch {
    return []
  }
}

/** `structuredClone` copies the cause, or refuses it. It drops the other properties of an error, so replacing one by a note loses nothing. */
const take = (snapshot: Snapshot, to: Record<string, unknown>, source: Record<string, unknown>, key: string): void => {
  const replaced = key === 'cause' ? 0 : 1
  snapshot.replaceDepth += replaced
  const value = snapshot.read(key, () => source[key])
  Object.defineProperty(to, key, { value, enumerable: true, configurable: true, writable: true })
  snapshot.replaceDepth -= replaced
}

/** Gives an error made by `emptyError` what its record holds. */
export const fillError = (error: Error, record: unknown): void => {
  const { hidden, shown } = record as ErrorRecord
  for (const key of Object.keys(hidden)) Object.defineProperty(error, key, { value: hidden[key], enumerable: false, configurable: true, writable: true })
  for (const key of Object.keys(shown)) Object.defineProperty(error, key, { value: shown[key], enumerable: true, configurable: true, writable: true })
}
