/** What values of tasks have and JSON lacks, as what comes nearest: a BigInt as text, a Map as an object, a Set as an array. */
const nearest = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? String(value) : value instanceof Map ? Object.fromEntries(value) : value instanceof Set ? [...value] : value

/** On one line, for programs. */
export const toJsonLine = (value: unknown): string => JSON.stringify(value, nearest) ?? 'undefined'

/** For people, and programs too. */
export const toJson = (value: unknown): string => JSON.stringify(value, nearest, 2) ?? 'undefined'
