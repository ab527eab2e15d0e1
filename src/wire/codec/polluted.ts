/** Has somebody given Object.prototype an enumerable property? Then `for in` finds more than an object's own. */
export const isPolluted = (): boolean => {
  for (const _ in Object.prototype) return true
  return false
}
