import { nearest } from './nearest.js'

/** Checks of option values: each refuses with the option's name, what it wants (with the unit) and what it was given. */

/** Timers of Node hold no more: about 24.8 days. */
export const MAX_MS = 0x7fff_ffff

export const shown = (value: unknown): string => {
  if (typeof value === 'string') return `'${value}'`
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'bigint' ? `${value}n` : String(value)
}

export const refuse = (name: string, wants: string, given: unknown): TypeError =>
  new TypeError(`Option '${name}' must be ${wants}; it was given ${shown(given)}.`)

/** Refuses names that there are not, and proposes the nearest. */
export const knownNames = (what: string, given: object, names: readonly string[]): void => {
  // `for in` makes no list, but finds what is inherited, too.
  for (const name in given) {
    if (names.includes(name) || !Object.hasOwn(given, name)) continue
    const near = nearest(name, names)
    throw new TypeError(`Unknown option '${name}' of ${what}${near === undefined ? '.' : `; did you mean '${near}'?`} It has: ${names.join(', ')}.`)
  }
}

const A_TIME = `a number of milliseconds above 0 and at most ${MAX_MS}`

export const milliseconds = (name: string, value: unknown, wants = A_TIME): number => {
  if (typeof value !== 'number' || !(value > 0) || value > MAX_MS) throw refuse(name, wants, value)
  return Math.ceil(value)
}

/** A time that may have no end. */
export const millisecondsOrNever = (name: string, value: unknown): number =>
  value === Number.POSITIVE_INFINITY ? value : milliseconds(name, value, `${A_TIME}, or Infinity`)

export const bytes = (name: string, value: unknown): number => {
  if (typeof value !== 'number' || !(value > 0) || !Number.isFinite(value)) throw refuse(name, 'a number of bytes above 0', value)
  return Math.ceil(value)
}

export const count = (name: string, value: unknown, min: number, max = Number.MAX_SAFE_INTEGER): number => {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw refuse(name, max === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`, value)
  }
  return value
}

export const flag = (name: string, value: unknown): boolean => {
  if (typeof value !== 'boolean') throw refuse(name, 'true or false', value)
  return value
}

export const oneOf = <T extends string>(name: string, value: unknown, allowed: readonly T[]): T => {
  if (!allowed.includes(value as T)) throw refuse(name, allowed.map((each) => `'${each}'`).join(' or '), value)
  return value as T
}

/** `wants`: what each element must be. The refusal names the first that is not. */
export const arrayOf = <T>(name: string, value: unknown, all: string, wants: string, fits: (each: unknown) => each is T): T[] => {
  if (!Array.isArray(value)) throw refuse(name, all, value)
  const wrong = value.findIndex((each) => !fits(each))
  if (wrong !== -1) throw refuse(`${name}[${wrong}]`, wants, value[wrong])
  return value
}

export const isString = (value: unknown): value is string => typeof value === 'string'

export const plainObject = (name: string, value: unknown): Record<string, unknown> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse(name, 'an object', value)
  return value as Record<string, unknown>
}

/** The timeout of `pool.close`, ms; undefined for none. */
export const closeTimeout = (options: unknown): number | undefined => {
  if (options === undefined) return undefined
  const { timeout } = plainObject('options', options)
  knownNames('pool.close', options as object, ['timeout'])
  // 0 is what a shutdown computes whose time is used up.
  return timeout === undefined || timeout === 0 ? timeout : milliseconds('timeout', timeout)
}
