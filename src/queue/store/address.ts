import { homedir } from 'node:os'
import { type Check, OptionError, refusal } from '../../util/checks.js'

const SQLITE = 'sqlite:'
const PARAMETERS = /\?[^/]*=/

interface Mistake {
  /** Of the path. */
  readonly pattern: RegExp
  /** What the address must be, for the message. */
  advice(path: string): string
}

/** Addresses that other libraries take, and that would name another file here. */
const MISTAKES: readonly Mistake[] = [
  { pattern: /^:memory:/, advice: () => "'memory:' for a queue in memory" },
  { pattern: /^file:/, advice: () => "a path after 'sqlite:', not a URL: 'sqlite:./x.db' or 'sqlite:/abs/x.db'" },
  { pattern: /^\/\/\//, advice: (path) => `a path after 'sqlite:', without the '//' of a URL: 'sqlite:${path.replace(/^\/+/, '/')}'` },
  { pattern: /^\/\//, advice: (path) => `a path after 'sqlite:', without the '//' of a URL: 'sqlite:./${path.slice(2)}', or 'sqlite:/abs/x.db'` },
  { pattern: /^~(?:\/|$)/, advice: (path) => `a path without '~', which only a shell expands: 'sqlite:${homedir()}${path.slice(1)}'` },
  { pattern: PARAMETERS, advice: (path) => `a path alone, as it takes no parameters: 'sqlite:${path.slice(0, path.search(PARAMETERS))}'` },
]

/**
 * The check of where jobs are kept: 'sqlite:./jobs.db', or 'memory:' or 'memory:name', shared by all of this process that name it. An address that means
 * another file, or none, to other libraries is refused: nobody would look for it there.
 */
export const storeAddress: Check<string> = (name, value) => {
  if (typeof value !== 'string' || !/^(?:memory:|sqlite:.)/s.test(value)) throw refusal(name, "'sqlite:./jobs.db' or 'memory:'", value)
  if (value.includes('\0')) throw new OptionError(name, 'must not contain a NUL')
  if (!value.startsWith(SQLITE)) return value
  const path = value.slice(SQLITE.length)
  const mistake = MISTAKES.find(({ pattern }) => pattern.test(path))
  if (mistake !== undefined) throw refusal(name, mistake.advice(path), value)
  return value
}
