/** Control characters but tab and newline, and what reorders or breaks a line: U+2028, U+2029 and the bidirectional embeddings, overrides and isolates. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL_CHARACTERS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g

const hex = (character: string, digits: number): string => character.charCodeAt(0).toString(16).padStart(digits, '0')

/** Shows control characters as `\x1b` and the like. Output of tasks and names in messages come from anywhere: a terminal must not obey them. */
export const escapeControl = (text: string): string =>
  text.replace(CONTROL_CHARACTERS, (each) => (each < '\u0100' ? `\\x${hex(each, 2)}` : `\\u${hex(each, 4)}`))

/** As `escapeControl`, newlines too: for a text that is one line of a log or a table. */
export const escapeLine = (text: string): string => escapeControl(text).replaceAll('\n', '\\n')

/** JSON with the same value, in which a terminal obeys nothing. `JSON.stringify` escapes only what is below U+0020. */
export const escapeJson = (json: string): string => json.replace(CONTROL_CHARACTERS, (each) => `\\u${hex(each, 4)}`)
