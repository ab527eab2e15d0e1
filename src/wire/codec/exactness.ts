/** What msgpackr carries unchanged. */

/** ES2024, not in the library that TypeScript is told of; Node 20 has it. */
type Text = string & { isWellFormed(): boolean }

/** Lone surrogates do not survive UTF-8, and msgpackr's decoder drops a leading byte order mark. */
export const isExactText = (text: string): boolean => (text as Text).isWellFormed() && text.charCodeAt(0) !== 0xfeff

const minInt64 = -(2n ** 63n)
const maxUint64 = 2n ** 64n - 1n

export const isExactBigInt = (value: bigint): boolean => value >= minInt64 && value <= maxUint64

/** Has somebody given Object.prototype an enumerable property? Then `for in` finds more than an object's own. */
export const isPolluted = (): boolean => {
  for (const _ in Object.prototype) return true
  return false
}
