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

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** In units of 1,024 bytes; of 1,000 where the size was given as such, as 500_000 is. */
const unitOf = (bytes: number): 1_000 | 1_024 => (bytes % 1_000 === 0 && bytes % (bytes < 2 ** 20 ? 2 ** 10 : 2 ** 20) !== 0 ? 1_000 : 1_024)

/** A size for people: `500 bytes`, `1.5 KB`, `600 MB`. */
export const sizeText = (bytes: number, base = unitOf(bytes)): string => {
  let value = bytes
  let unit = 0
  for (; value >= base && unit < UNITS.length - 1; unit++) value /= base
  // One decimal below ten, so that 1.5 GB and 2 GB differ.
  const digits = unit > 0 && value < 9.95 ? 1 : 0
  return `${Number(value.toFixed(digits)).toLocaleString('en-US')} ${UNITS[unit]}`
}

/** `300 MB, more than maxMessageSize (256 MB)`. Where both sizes would read the same, it has their bytes. */
export const overText = (bytes: number, name: string, limit: number): string => {
  const rounded = [bytes, limit].map((each) => sizeText(each, unitOf(limit)))
  const [size, max] = rounded[0] === rounded[1] ? [bytes, limit].map((each) => `${each.toLocaleString('en-US')} bytes`) : rounded
  return `${size}, more than ${name} (${max})`
}
