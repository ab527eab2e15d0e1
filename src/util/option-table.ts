import { allRefused, type Check, OptionError, refuseUnknownNames } from './checks.js'

/** An option without its type and docstring, which are in the public interface. test/docs/tables.test.ts compares pages and docstrings with these rows. */
export interface OptionSpec<V = unknown> {
  /** As the reference page prints it: `ms`, `bytes`, `jobs`. */
  readonly unit: string
  readonly check: Check<V>
  /** The value of an absent option. A function computes it from the options above it in the table; that of a required option throws. */
  readonly default?: unknown
  /** The default in words, where its value does not show it. */
  readonly defaultText?: string | undefined
  /** What the option sets, as a phrase. */
  readonly doc: string
}

/** A row for each option of the interface `O`. */
export type OptionTable<O> = { readonly [N in keyof Required<O>]: OptionSpec }

/** What `readOptions` returns for a table. */
export type OptionValues<T> = { -readonly [N in keyof T]: T[N] extends OptionSpec<infer V> ? V : never }

// biome-ignore lint/suspicious/noExplicitAny: a table cannot name its own type; the function declares the options that it reads.
type Default<D> = D | ((read: any) => D)

/** A row of a table, in the order of its columns. The value of the option has the type that `check` returns, or that of the default. */
export const option = <T, const D>(unit: string, check: Check<T>, fallback: Default<D>, doc: string, defaultText?: string): OptionSpec<T | D> => ({
  unit,
  check,
  default: fallback,
  defaultText,
  doc,
})

/** The names of the options, in the order of the table. */
export const namesOf = <T extends object>(table: T): (keyof T & string)[] => Object.keys(table) as (keyof T & string)[]

/** The value of one option of a table: checked, or the default. */
export const optionValue = <V>(name: string, spec: OptionSpec<V>, given: unknown, read: object = {}): V => {
  if (given !== undefined) return spec.check(name, given)
  return (typeof spec.default === 'function' ? spec.default(read) : spec.default) as V
}

/**
 * Reads the options that a caller gave. An option that is `undefined` is absent.
 *
 * @param what the call, for the message about an unknown name
 * @throws {TypeError} an unknown name; an OptionError for a value that cannot be used
 */
export const readOptions = <T extends Readonly<Record<string, OptionSpec>>>(table: T, what: string, given: object): OptionValues<T> => {
  refuseUnknownNames(what, given, Object.keys(table))
  return readKnown(table, given)
}

/** Like `readOptions`, for options that are given together with those of other tables. */
export const readKnown = <T extends Readonly<Record<string, OptionSpec>>>(table: T, given: object): OptionValues<T> => {
  const read: Record<string, unknown> = {}
  const refused: OptionError[] = []
  for (const [name, spec] of Object.entries(table)) {
    try {
      read[name] = optionValue(name, spec, (given as Record<string, unknown>)[name], read)
    } catch (error) {
      if (!(error instanceof OptionError)) throw error
      refused.push(error)
    }
  }
  if (refused.length > 0) throw allRefused(refused as [OptionError, ...OptionError[]])
  return read as OptionValues<T>
}
