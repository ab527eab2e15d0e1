import { MAX_TIMER } from './limits.js'
import { nearest, shortName } from './nearest.js'
import { sizeText } from './shown-text.js'

/** Checks of option values. Each returns the value as it is used, or throws an OptionError with the option's name, what it must be (with the unit) and what was given. */
export type Check<T> = (name: string, value: unknown) => T

/**
 * An option that is refused. `option` and `reason` are the parts of the message, for a caller that knows the option by another name. They are
 * not enumerable: printed or compared, the error is a TypeError with its message.
 */
export class OptionError extends TypeError {
  /** The option's name, with the place in it: `tls.ca`, `tasks[1]`. */
  declare readonly option: string
  /** What is wrong with it: `must be true or false; it was given 1`. */
  declare readonly reason: string

  constructor(option: string, reason: string, options?: ErrorOptions) {
    super(`Option '${option}' ${reason}${reason.endsWith('?') ? '' : '.'}`, options)
    Object.defineProperties(this, { option: { value: option }, reason: { value: reason } })
  }
}

/** What people pass by mistake in place of an object of options, with the articles. Its own properties say nothing, so that it would count as no options. */
const NO_OPTIONS: ReadonlyMap<string, string> = new Map([
  ['AbortSignal', 'an AbortSignal'],
  ['AbortController', 'an AbortController'],
  ['Date', 'a Date'],
  ['Map', 'a Map'],
  ['Promise', 'a Promise'],
  ['Set', 'a Set'],
  ['URL', 'a URL'],
])

/** What an object is that cannot be options: `an AbortSignal`. Undefined: it can be. The tag also tells an object of another realm. */
const otherKind = (value: object): string | undefined => NO_OPTIONS.get(Object.prototype.toString.call(value).slice(8, -1))

/** False also for an array, a Map, an AbortSignal and the like. An instance of a class can be options. */
export const canBeOptions = (value: unknown): value is object => {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  // First, as each call with options takes this way.
  if (prototype === Object.prototype || prototype === null) return true
  return !Array.isArray(value) && otherKind(value) === undefined
}

/** The end of the message about options that are an AbortSignal, for a call with the option `signal`. */
export const signalHint = (value: unknown, names: readonly string[]): string =>
  value instanceof AbortSignal && names.includes('signal') ? ': pass { signal }' : ''

export const shown = (value: unknown): string => {
  if (typeof value === 'string') return `'${shortName(value)}'`
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array'
  if (value instanceof Date && Number.isNaN(value.getTime())) return 'an invalid Date'
  if (typeof value === 'object' && value !== null) return otherKind(value) ?? 'an object'
  return typeof value === 'bigint' ? `${value}n` : String(value)
}

export const refusal = (name: string, wants: string, given: unknown): OptionError => new OptionError(name, `must be ${wants}; it was given ${shown(given)}`)

type Meaning = readonly [option: string, text: string]

const ATTEMPTS: readonly Meaning[] = [
  ['maxAttempts', "'maxAttempts'"],
  ['retryLost', "'retryLost', for jobs whose process died"],
  ['maxPutBacks', "'retryLost' of a call or of defineTask, for jobs whose process died"],
]
const MOST_WORKERS: readonly Meaning[] = [
  ['maxWorkers', "'maxWorkers'"],
  ['workers', "'workers': a number, or { min, max }"],
]
const LEAST_WORKERS: readonly Meaning[] = [['minWorkers', "'minWorkers'"], MOST_WORKERS[1]!]

/** Names that other pools and queues give to options, with what is meant here: the first that the call has. */
const FOREIGN: Readonly<Record<string, readonly Meaning[]>> = {
  timeout: [['timeLimit', "'timeLimit' (ms)"]],
  retries: ATTEMPTS,
  attempts: ATTEMPTS,
  maxThreads: MOST_WORKERS,
  minThreads: LEAST_WORKERS,
  maxWorkers: MOST_WORKERS,
  minWorkers: LEAST_WORKERS,
  numWorkers: MOST_WORKERS,
  size: MOST_WORKERS,
  idleTimeout: [['keepAlive', "'keepAlive' (ms)"]],
  filename: [['tasks', "'tasks'"]],
}

const hintFor = (name: string, names: readonly string[]): string => {
  const meaning = Object.hasOwn(FOREIGN, name) ? FOREIGN[name]!.find(([option]) => names.includes(option)) : undefined
  if (meaning !== undefined) return `; here it is ${meaning[1]}.`
  const near = nearest(name, names)
  return near === undefined ? '.' : `; did you mean '${near}'?`
}

/** Refuses the names that are not among `names`, and proposes the nearest of each, or the one that another library calls so. */
export const refuseUnknownNames = (what: string, given: object, names: readonly string[]): void => {
  // `for in` allocates no list, but also finds inherited names.
  for (const name in given) {
    if (names.includes(name) || !Object.hasOwn(given, name)) continue
    const unknown = Object.keys(given).filter((each) => !names.includes(each))
    const told = unknown.map((each, index) => `${index === 0 ? `Unknown option '${each}' of ${what}` : `Unknown, too: '${each}'`}${hintFor(each, names)}`)
    throw new TypeError(`${told.join(' ')} ${names.length === 0 ? 'It has no options' : `It has: ${names.join(', ')}`}.`)
  }
}

/** One error for all options that are refused. */
export const allRefused = ([first, ...others]: readonly [OptionError, ...OptionError[]]): OptionError => {
  if (others.length === 0) return first
  const texts = [`${first.reason}${first.reason.endsWith('?') ? '' : '.'}`, ...others.map(({ message }) => message)]
  return new OptionError(first.option, texts.join(' ').replace(/\.$/, ''), { cause: first.cause })
}

const A_TIME = `a number of milliseconds above 0 and at most ${MAX_TIMER}`

export const milliseconds = (name: string, value: unknown, wants = A_TIME): number => {
  if (typeof value !== 'number' || !(value > 0) || value > MAX_TIMER) throw refusal(name, wants, value)
  return Math.ceil(value)
}

export const millisecondsOrZero = (name: string, value: unknown): number => (value === 0 ? 0 : milliseconds(name, value, `${A_TIME}, or 0`))

export const millisecondsOrInfinity = (name: string, value: unknown): number =>
  value === Number.POSITIVE_INFINITY ? value : milliseconds(name, value, `${A_TIME}, or Infinity`)

export const bytes = (name: string, value: unknown): number => {
  if (typeof value !== 'number' || !(value > 0) || !Number.isFinite(value)) throw refusal(name, 'a number of bytes above 0', value)
  return Math.ceil(value)
}

/** Less than any worker takes that does nothing. */
const LEAST_MEMORY = 32 * 1024 * 1024

export const bytesOrZero: Check<number> = (name, value) => {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw refusal(name, 'a whole number of bytes, or 0 for none', value)
  return value as number
}

/** The resident memory of a worker, bytes. */
export const workerMemory = (name: string, value: unknown): number => {
  const size = bytes(name, value)
  if (size >= LEAST_MEMORY) return size
  const unit = size < 65_536 ? '1024 * 1024' : '1024'
  const hint = size < 1_000_000 ? `; did you mean ${size} * ${unit}?` : ''
  throw new OptionError(name, `is in bytes, and a worker that does nothing takes more than ${sizeText(LEAST_MEMORY)}; it was given ${size}${hint}`)
}

export const count = (name: string, value: unknown, min: number, max = Number.MAX_SAFE_INTEGER): number => {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw refusal(name, max === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`, value)
  }
  return value
}

export interface CountCheck extends Check<number> {
  readonly min: number
  /** Undefined: none. */
  readonly max: number | undefined
}

/** The check `count` with these bounds. */
export const countFrom = (min: number, max?: number): CountCheck => Object.assign((name: string, value: unknown) => count(name, value, min, max), { min, max })

export const flag = (name: string, value: unknown): boolean => {
  if (typeof value !== 'boolean') throw refusal(name, 'true or false', value)
  return value
}

export const oneOf = <T extends string>(name: string, value: unknown, allowed: readonly T[]): T => {
  if (!allowed.includes(value as T)) throw refusal(name, allowed.map((each) => `'${each}'`).join(' or '), value)
  return value as T
}

export interface ChoiceCheck<T extends string> extends Check<T> {
  readonly allowed: readonly T[]
}

/** The check `oneOf` with these values. */
export const choice = <T extends string>(...allowed: readonly T[]): ChoiceCheck<T> =>
  Object.assign((name: string, value: unknown) => oneOf(name, value, allowed), { allowed })

export const nonEmptyString = (name: string, value: unknown): string => {
  if (typeof value !== 'string' || value === '') throw refusal(name, 'a non-empty string', value)
  return value
}

/** `wants`: what each element must be. The refusal names the first that is not. */
export const arrayOf = <T>(name: string, value: unknown, all: string, wants: string, fits: (each: unknown) => each is T): T[] => {
  if (!Array.isArray(value)) throw refusal(name, all, value)
  const wrong = value.findIndex((each) => !fits(each))
  if (wrong !== -1) throw refusal(`${name}[${wrong}]`, wants, value[wrong])
  return value
}

export const isString = (value: unknown): value is string => typeof value === 'string'

/** `names`: of the options that it may have, for the message. */
export const plainObject = (name: string, value: unknown, names: readonly string[] = []): Record<string, unknown> => {
  if (!canBeOptions(value)) throw new OptionError(name, `must be an object; it was given ${shown(value)}${signalHint(value, names)}`)
  return value as Record<string, unknown>
}

/** An object that has no properties but these. */
export const objectWith = (name: string, value: unknown, names: readonly string[]): Record<string, unknown> => {
  const given = plainObject(name, value, names)
  refuseUnknownNames(name, given, names)
  return given
}

/** Refuses options with a hard time limit below the soft limit, which would never pass. 0 and undefined: no limit. For messages, see `hardLimitAbove`. */
export const checkLimits = ({ softTimeLimit, timeLimit }: { readonly softTimeLimit?: number | undefined; readonly timeLimit?: number | undefined }): void => {
  if (timeLimit && softTimeLimit && timeLimit < softTimeLimit)
    throw refusal('timeLimit', `at least the softTimeLimit of ${softTimeLimit} ms (it ends what the soft limit only asks)`, timeLimit)
}

/** The timeout of `pool.close`, ms; undefined for none. */
export const closeTimeout = (options: unknown): number | undefined => {
  if (options === undefined) return undefined
  const { timeout } = plainObject('options', options)
  refuseUnknownNames('pool.close', options as object, ['timeout'])
  // 0 is allowed: a shutdown passes its remaining time, which may be 0.
  return timeout === undefined ? undefined : millisecondsOrZero('timeout', timeout)
}
