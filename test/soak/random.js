// A seeded random generator, and values that a seed determines.

/** mulberry32. */
export const randomOf = (seed) => {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    /** An integer from `low` to `high`, both included. */
    int: (low, high) => low + Math.floor(next() * (high - low + 1)),
    chance: (share) => next() < share,
    pick: (list) => list[Math.floor(next() * list.length)],
    /** One key of an object of weights, chosen in proportion to them. */
    weighted: (weights) => {
      let left = next() * Object.values(weights).reduce((sum, weight) => sum + weight, 0)
      for (const [key, weight] of Object.entries(weights)) {
        left -= weight
        if (left < 0) return key
      }
      return Object.keys(weights)[0]
    },
  }
}

/** A value of mixed types; the same seed gives an equal value. */
export const mixedOf = (seed) => {
  const random = randomOf(seed)
  return {
    seed,
    half: seed / 2,
    text: `text ${seed} \u{1f40c}`,
    list: Array.from({ length: random.int(0, 30) }, () => random.int(-1000, 1000)),
    when: new Date(random.int(0, 2 ** 31)),
    map: new Map([[seed, { deep: [null, undefined, -0, 10n ** 20n] }]]),
    bytes: Buffer.alloc(random.int(0, 200), seed & 0xff),
  }
}

/** Bytes that depend on seed and offset. */
export const bufferOf = (seed, size) => {
  const buffer = Buffer.alloc(size, seed & 0xff)
  for (let at = 0; at + 4 <= size; at += 4096) buffer.writeUInt32LE((seed + at) >>> 0, at)
  return buffer
}
