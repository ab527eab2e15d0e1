import { type Check, refusal } from '../../util/checks.js'

/** The queue where none is named. */
export const DEFAULT_QUEUE = 'default'

/** The largest body, result and progress value where no option says another, bytes. */
export const DEFAULT_MAX_SIZE = 1024 * 1024

/** Bytes of the id of a job, of a queue's name, and of a task's. */
const MAX_NAME = 255
/** Bytes of a schedule's key: the ids of its jobs add the tick. */
const MAX_KEY = 200

/** `String.prototype.isWellFormed` is younger than the library that TypeScript checks against. */
const isWellFormed = (text: string): boolean => (text as string & { isWellFormed(): boolean }).isWellFormed()

// A lone surrogate would be stored as U+FFFD, and one text would stand for another; SQLite reads a text up to its first NUL.
const nameOf =
  (max: number): Check<string> =>
  (name, value) => {
    if (typeof value !== 'string' || value === '' || Buffer.byteLength(value) > max || !isWellFormed(value) || value.includes('\0'))
      throw refusal(name, `a well-formed text of 1 to ${max} bytes of UTF-8, without a NUL`, value)
    return value
  }

/** The id of a job, the name of a queue or a task, or a key of deduplication. */
export const validName = nameOf(MAX_NAME)

/** The key of a schedule. */
export const scheduleKey = nameOf(MAX_KEY)

export const validNames: Check<string[]> = (name, value) => {
  if (!Array.isArray(value) || value.length === 0) throw refusal(name, 'a non-empty array of names', value)
  return [...new Set(value.map((each: unknown, index) => validName(`${name}[${index}]`, each)))]
}
