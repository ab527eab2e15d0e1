/** An error as data. Its record stands beside the value, so that an error may hold itself (`cause`, properties). */
import { types } from 'node:util'
import { Carrier, KIND_ERROR } from './carrier.js'
import { classOf, DOM_EXCEPTION, isDOMException } from './error-classes.js'
import type { Snapshot } from './snapshot.js'

/** `hidden`: own properties that are not enumerable, as an ordinary error's. `shown`: those that are. */
export interface ErrorRecord {
  hidden: Record<string, unknown>
  shown: Record<string, unknown>
}

/** Non-enumerable properties that are looked for; everything enumerable is taken. */
const looked = ['cause', 'errors', 'code'] as const

export const isError = (value: object): boolean => types.isNativeError(value) || isDOMException(value)

const textOf = (read: () => unknown, otherwise: string): string => {
  try {
    const value = read()
    return typeof value === 'string' ? value : value === undefined ? otherwise : String(value)
  } catch {
    return otherwise
  }
}

const put = (object: Record<string, unknown>, key: string, value: unknown): void => {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}

/** Puts the error's record into the snapshot and gives the carrier that stands for it. `met` is told the carrier before anything inside the error is looked at. */
export const errorCarrier = (snapshot: Snapshot, error: object, met: (carrier: Carrier) => void): Carrier => {
  const carrier = new Carrier()
  const record: ErrorRecord = { hidden: {}, shown: {} }
  carrier.kind = KIND_ERROR
  carrier.index = snapshot.errors.push(record) - 1
  met(carrier)
  const source = error as Record<string, unknown>
  const message = textOf(() => source.message, '')
  const name = textOf(() => source.name, 'Error')
  const dom = isDOMException(error)
  let ownName = 'Error'
  if (dom) {
    carrier.elements = DOM_EXCEPTION
    carrier.text = [message, name]
  } else {
    const known = classOf(error)
    carrier.elements = known.place
    ownName = known.name
    if (message !== '' || Object.hasOwn(error, 'message')) record.hidden.message = message
    if (name !== ownName || (Object.hasOwn(error, 'name') && !isEnumerable(error, 'name'))) record.hidden.name = name
  }
  record.hidden.stack = textOf(() => source.stack, `${name}: ${message}`)
  for (const key of looked) {
    if (isEnumerable(error, key)) continue
    // An inherited `code` (a getter of the class) is kept too: matching on it is what it is for.
    if (Object.hasOwn(error, key) || (key === 'code' && !dom && key in error)) take(snapshot, record.hidden, source, key)
  }
  for (const key of keysOf(error)) {
    if (key === 'message' || key === 'stack' || (key === 'name' && dom)) continue
    take(snapshot, record.shown, source, key)
  }
  return carrier
}

const isEnumerable = (error: object, key: string): boolean => Object.prototype.propertyIsEnumerable.call(error, key)

const keysOf = (error: object): string[] => {
  try {
    return Object.keys(error)
  } catch {
    return []
  }
}

/** `structuredClone` carries the cause, and refuses what cannot be; it drops the rest of an error, so a note in its place loses nothing. */
const take = (snapshot: Snapshot, to: Record<string, unknown>, source: Record<string, unknown>, key: string): void => {
  const lenient = key === 'cause' ? 0 : 1
  snapshot.lenient += lenient
  put(
    to,
    key,
    snapshot.read(key, () => source[key]),
  )
  snapshot.lenient -= lenient
}

/** Gives an error made by `emptyError` what its record holds. */
export const fillError = (error: Error, record: unknown): void => {
  const { hidden, shown } = record as ErrorRecord
  for (const key of Object.keys(hidden)) Object.defineProperty(error, key, { value: hidden[key], enumerable: false, configurable: true, writable: true })
  for (const key of Object.keys(shown)) Object.defineProperty(error, key, { value: shown[key], enumerable: true, configurable: true, writable: true })
}
