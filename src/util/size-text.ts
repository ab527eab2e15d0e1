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
