import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { arrayOf, type Check, count, isString, OptionError, plainObject, refusal, refuseUnknownNames } from '../util/checks.js'
import { MAX_WORKERS } from '../util/limits.js'
import { throwLater } from '../util/notify.js'
import type { Dispatch, PoolLogger } from './types.js'

/** Checks of the options that only a pool has. */

const ONE_MODULE = "a module: new URL('./tasks.js', import.meta.url), a file: URL or a path"
export const MODULES = `${ONE_MODULE}, or a non-empty array of them`

/** A URL as text that no worker imports. A path begins with such a scheme only by mistake, other than with the letter of a drive. */
const OTHER_URL = /^(?!file:)(?:[a-z][a-z\d+.-]+:\/\/|(?:blob|data|node):)/i

const urlOf = (module: string): string => (module.startsWith('file:') ? new URL(module).href : pathToFileURL(resolve(module)).href)

/** Returns `file:` URLs, each once. */
export const modules: Check<string[]> = (name, given) => {
  const all: unknown[] = Array.isArray(given) ? given : [given]
  if (all.length === 0) throw refusal(name, MODULES, given)
  const urls = all.map((each, index) => {
    const place = Array.isArray(given) ? `${name}[${index}]` : name
    if (each instanceof URL) {
      if (each.protocol !== 'file:') throw refusal(place, 'a file: URL', each.href)
      return each.href
    }
    if (typeof each !== 'string' || each === '') throw refusal(place, Array.isArray(given) ? ONE_MODULE : MODULES, each)
    if (OTHER_URL.test(each)) throw refusal(place, 'a file: URL or a path', each)
    return urlOf(each)
  })
  return [...new Set(urls)]
}

/** The modules that were given as relative paths, by their URLs. */
export const relativeModules = (given: unknown): ReadonlyMap<string, string> => {
  const paths = [given].flat().filter((each) => typeof each === 'string' && !each.startsWith('file:') && !isAbsolute(each)) as string[]
  return new Map(paths.map((path) => [urlOf(path), path]))
}

/** Returns the bounds; `max` is undefined where a range names none. */
export const workers: Check<{ min: number; max: number | undefined }> = (name, given) => {
  const wants = `a whole number from 1 to ${MAX_WORKERS}, or { min, max }`
  if (typeof given === 'number') {
    if (!Number.isInteger(given) || given < 1 || given > MAX_WORKERS) throw refusal(name, wants, given)
    return { min: given, max: given }
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw refusal(name, wants, given)
  const prototype: unknown = Object.getPrototypeOf(given)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw refusal(name, wants, given)
  refuseUnknownNames(name, given, ['min', 'max'])
  const { min = 1, max } = given as { min?: unknown; max?: unknown }
  const least = count(`${name}.min`, min, 0, MAX_WORKERS)
  const most = max === undefined ? undefined : count(`${name}.max`, max, 1, MAX_WORKERS)
  if (most !== undefined && most < least) throw refusal(`${name}.max`, `at least ${name}.min, ${least}`, most)
  return { min: least, max: most }
}

/** The largest fixed window, in jobs. */
const MAX_WINDOW = 100_000

const MODES: readonly unknown[] = ['adaptive', 'fair', 'fast'] satisfies Dispatch[]

export const dispatch: Check<Dispatch> = (name, value) => {
  const allowed = typeof value === 'number' ? Number.isInteger(value) && value >= 1 && value <= MAX_WINDOW : MODES.includes(value)
  if (!allowed) throw refusal(name, `'adaptive', 'fair', 'fast' or a window, a whole number from 1 to ${MAX_WINDOW}`, value)
  return value as Dispatch
}

export const path: Check<string> = (name, given) => {
  if (given instanceof URL && given.protocol === 'file:') return fileURLToPath(given)
  if (typeof given !== 'string' || given === '') throw refusal(name, 'a path or a file: URL', given)
  return given.startsWith('file:') ? fileURLToPath(given) : resolve(given)
}

export const environment: Check<Record<string, string | undefined>> = (name, given) => {
  const env = plainObject(name, given)
  for (const [key, value] of Object.entries(env)) {
    if (value !== undefined && typeof value !== 'string') throw refusal(`${name}.${key}`, 'a string', value)
  }
  return env as Record<string, string | undefined>
}

/** Options with which Node does not run the script that it is given, or runs it in another process. */
const REPLACES_SCRIPT = /^(-|-[cehpv]|-pe|--(check|completion-bash|eval|help|print|prof-process|test|v8-options|version|watch))(=|$)/

/** True: the next argument is not the value of `arg`. Options that take no value are not recognised, because they differ between versions of Node. */
const cannotTakeValue = (arg: string | undefined): boolean => arg === undefined || arg === '--' || !arg.startsWith('-') || /^--[^=]+=/.test(arg)

/** Refuses an argument with which no worker could start. */
export const execArgv: Check<readonly string[]> = (name, given) => {
  const args = arrayOf(name, given, 'an array of strings', 'a string', isString)
  for (const [index, arg] of args.entries()) {
    const before = args[index - 1]
    if (before === '--' || (!arg.startsWith('-') && cannotTakeValue(before)))
      throw new OptionError(
        `${name}[${index}]`,
        `must be an option of Node's, or the value of the one before it; it was given '${arg}', which Node would run in place of the worker. Name modules with '--import' or '--require'`,
      )
    if (REPLACES_SCRIPT.test(arg)) throw new OptionError(`${name}[${index}]`, `is '${arg}', with which no worker can start: leave it out`)
  }
  return [...args]
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const satisfies readonly (keyof PoolLogger)[]

export const logger: Check<PoolLogger> = (name, given) => {
  if (typeof given !== 'object' || given === null || LEVELS.some((level) => typeof (given as Record<string, unknown>)[level] !== 'function'))
    throw refusal(name, 'a pino logger (or an object with its methods trace, debug, info, warn and error)', given)
  return given as PoolLogger
}

/** A logger that throws must not interrupt the pool: its error surfaces by itself, like that of an event listener. */
export const guarded = (given: PoolLogger): PoolLogger => {
  const call =
    (level: keyof PoolLogger) =>
    (details: object, message: string): void => {
      try {
        given[level](details, message)
      } catch (error) {
        throwLater(error)
      }
    }
  return { trace: call('trace'), debug: call('debug'), info: call('info'), warn: call('warn'), error: call('error') }
}
