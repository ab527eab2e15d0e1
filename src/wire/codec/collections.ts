/** Maps and Sets of a snapshot: of classes of our own, because msgpackr chooses extensions by class and writes a plain Map as an object. node:v8 sees a Map, a Set. */

export class SentMap extends Map<unknown, unknown> {}
export class SentSet extends Set<unknown> {}

/** Key, value, key, value … */
export const flat = (map: Map<unknown, unknown>): unknown[] => {
  const list: unknown[] = []
  for (const [key, value] of map) list.push(key, value)
  return list
}

export const mapOf = (list: unknown): Map<unknown, unknown> => {
  const map = new Map<unknown, unknown>()
  if (Array.isArray(list)) for (let i = 0; i + 1 < list.length; i += 2) map.set(list[i], list[i + 1])
  return map
}
