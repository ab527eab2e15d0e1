import { checkLimits as checkBoth } from '../../util/checks.js'
import { nearest, shortName } from '../../util/nearest.js'
import { UsageError } from '../exit.js'
import type { Reader } from './values.js'

/** The flags as commander returns them: as they were typed. */
export type Flags = Readonly<Record<string, string | string[] | boolean | undefined>>
export type Environment = Readonly<Record<string, string | undefined>>

/** A value that a flag, a variable or both set. The flag overrides the variable. */
export interface Setting<T> {
  /** `--prefetch` */
  readonly flag?: string
  readonly variable?: string
  readonly reader: Reader<T>
  /** A variable of white space alone is refused. Otherwise it counts as absent, as an empty one does. */
  readonly refuseBlank?: boolean
  /** White space around a variable is part of the value, but for a newline at its end, which may come from a file. */
  readonly verbatim?: boolean
}

const shown = (text: string): string => `'${text.length > 60 ? `${text.slice(0, 57)}...` : text}'`

/** `--scale-up-batch` → `scaleUpBatch`, as commander does. */
const keyOf = (flag: string): string => flag.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

const readAs = <T>(reader: Reader<T>, source: string, text: string): T => {
  const value = reader.read(text)
  if (value === undefined) throw new UsageError(`${source} must be ${reader.wants}${reader.secret ? '' : `; it was given ${shown(text)}`}.`)
  return value
}

/** Whether a flag was given. */
export const isTyped = (flag: string, flags: Flags): boolean => flags[keyOf(flag)] !== undefined

/** The value of a setting, or undefined when neither flag nor variable names one. An empty variable counts as absent. */
export const readSetting = <T>({ flag, variable, reader, refuseBlank, verbatim }: Setting<T>, flags: Flags, env: Environment): T | undefined => {
  const typed = flag === undefined ? undefined : flags[keyOf(flag)]
  // A flag given more than once is one list.
  if (typeof typed === 'string' || Array.isArray(typed)) return readAs(reader, flag!, Array.isArray(typed) ? typed.join(',') : typed)
  const given = variable === undefined ? undefined : env[variable]
  const found = verbatim === true ? given?.replace(/\r?\n$/, '') : given?.trim()
  const absent = found === undefined || (refuseBlank === true ? given === '' : found === '')
  return absent ? undefined : readAs(reader, variable!, found)
}

/** Variables with this prefix are the command line's own. */
const OWN = 'ASYNC_FARM_'

/** A line for each variable that has no effect and is most likely a misspelt one of `names`. */
export const misspeltVariables = (env: Environment, names: readonly string[]): string[] => {
  const own = names.filter((name) => name.startsWith(OWN)).map((name) => name.slice(OWN.length))
  return Object.keys(env).flatMap((name) => {
    const rest = name.slice(OWN.length)
    if (!name.startsWith(OWN) || own.includes(rest)) return []
    const near = nearest(rest, own)
    return near === undefined ? [] : [`the variable ${shortName(name)} has no effect; did you mean ${OWN}${near}?`]
  })
}

/** Throws UsageError, with the names of the flags, where the library's own check refuses both limits together. */
export const checkLimits = (options: Parameters<typeof checkBoth>[0]): void => {
  try {
    checkBoth(options)
  } catch {
    throw new UsageError('--time-limit must be at least --soft-time-limit: it ends what the soft limit only asks.')
  }
}
