import { textWithoutPasswords } from '../../util/redact.js'
import type { HistoryEntry, SerializedError } from '../delivery.js'

/** Entries of a message's history, at most: they share one frame of the broker with the other headers. */
export const MAX_HISTORY = 20
const MAX_LINE = 500
const MAX_MESSAGE = 2_000
const MAX_STACK = 8_000

export const truncate = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text)

const textOf = (value: unknown): string => {
  try {
    return String(value)
  } catch {
    return 'a value that has no text'
  }
}

const field = (value: object, name: string): string | undefined => {
  try {
    const found = (value as Record<string, unknown>)[name]
    return typeof found === 'string' ? found : undefined
  } catch {
    return undefined
  }
}

/** An error, or another thrown value, as it is stored with a message. */
export const serializeError = (thrown: unknown): SerializedError => {
  if (!(thrown instanceof Error)) return { name: 'NonError', message: truncate(textOf(thrown), MAX_MESSAGE), stack: undefined, code: undefined }
  const stack = field(thrown, 'stack')
  return {
    name: field(thrown, 'name') ?? 'Error',
    message: truncate(field(thrown, 'message') ?? '', MAX_MESSAGE),
    stack: stack === undefined ? undefined : truncate(stack, MAX_STACK),
    code: field(thrown, 'code'),
  }
}

/** Name and message of an error for people, cut to 500 characters, without the passwords in URLs. */
export const errorLine = (thrown: unknown): string => {
  const { name, message } = serializeError(thrown)
  return lineOf(`${name}: ${message}`)
}

/** A text for a history, cut to 500 characters, without the passwords in URLs. */
export const lineOf = (text: string): string => truncate(textWithoutPasswords(text), MAX_LINE)

/** The history with entries added. The newest `MAX_HISTORY` are kept. */
export const withHistory = (history: readonly HistoryEntry[], ...added: readonly HistoryEntry[]): readonly HistoryEntry[] =>
  [...history, ...added].slice(-MAX_HISTORY)
