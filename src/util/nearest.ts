/** The longest name that messages show in full. */
const MAX_SHOWN = 80

/** A name that another process or a user gave, as messages show it. */
export const shortName = (name: string): string => (name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name)

/** The name that a misspelt one most likely means: the nearest by edit distance, if it is near at all. */
export const nearest = (wrong: string, names: Iterable<string>): string | undefined => {
  let best: string | undefined
  // Two edits would replace a name of one or two letters completely.
  let bestDistance = wrong.length < 3 ? 2 : Math.max(2, Math.floor(0.4 * wrong.length)) + 1
  for (const name of names) {
    const distance = editDistance(wrong.toLowerCase(), name.toLowerCase())
    if (distance < bestDistance) {
      best = name
      bestDistance = distance
    }
  }
  return best
}

const editDistance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}
