/** Builds and measures deeply nested values, like the tasks of test/fixtures/nesting.js. */
export const nest = (depth: number, kind = 'arrays'): unknown => {
  let value: unknown = 0
  for (let level = 0; level < depth; level += 1) value = kind === 'arrays' ? [value] : kind === 'objects' ? { a: value } : new Map([[1, value]])
  return value
}

export const depthOf = (value: unknown): number => {
  let depth = 0
  for (let at = value; typeof at === 'object'; at = Array.isArray(at) ? at[0] : at instanceof Map ? at.get(1) : (at as { a: unknown }).a) depth += 1
  return depth
}
