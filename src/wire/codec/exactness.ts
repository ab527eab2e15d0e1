/** What msgpackr carries unchanged. */

/** ES2024, not in the library that TypeScript is told of; Node 20 has it. */
type Text = string & { isWellFormed(): boolean }

/** Lone surrogates do not survive UTF-8, and msgpackr's decoder drops a leading byte order mark. */
export const isExactText = (text: string): boolean => (text as Text).isWellFormed() && text.charCodeAt(0) !== 0xfeff

/** msgpackr renames `__proto__`, and keeps notes of its own under `__keys__`. */
export const isExactKey = (key: string): boolean => isExactText(key) && key !== '__proto__' && key !== '__keys__'

const minInt64 = -(2n ** 63n)
const maxUint64 = 2n ** 64n - 1n

export const isExactBigInt = (value: bigint): boolean => value >= minInt64 && value <= maxUint64

/** Has somebody given Object.prototype an enumerable property? Then `for in` finds more than an object's own. */
export const isPolluted = (): boolean => {
  for (const _ in Object.prototype) return true
  return false
}

/** From so many objects of one shape on, naming their keys once pays. */
const ROWS = 8

const shapeOf = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value).join() : undefined

/** Does an array hold objects of one shape, as far as a look at three of them tells? */
export const areRows = (list: readonly unknown[]): boolean => {
  if (list.length < ROWS) return false
  const shape = shapeOf(list[0])
  return shape !== undefined && shape !== '' && shape === shapeOf(list[list.length >> 1]) && shape === shapeOf(list.at(-1))
}
