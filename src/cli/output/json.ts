/** Values that JSON lacks: a BigInt becomes text, a Map an object, a Set an array. */
const replacer = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? String(value) : value instanceof Map ? Object.fromEntries(value) : value instanceof Set ? [...value] : value

/** On one line, for programs. */
export const toJsonLine = (value: unknown): string => JSON.stringify(value, replacer) ?? 'undefined'

/** Indented, for people and programs. */
export const toJson = (value: unknown): string => JSON.stringify(value, replacer, 2) ?? 'undefined'
