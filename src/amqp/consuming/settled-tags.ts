/** Bytes to begin with, and at the most: powers of two, as ever. */
const FIRST = 1_024
const MOST = 65_536

/** Which deliveries of one channel are settled: all up to the floor, and some above it. A channel counts its deliveries from 1. */
export class SettledTags {
  /** Every delivery up to this tag is settled. */
  floor = 0
  /** Every delivery up to this one is settled, or one of the late. Those above it have a byte each. */
  #base = 0
  /** In ascending order: what a long job holds, thousands of whose like have come and gone since. A byte for each of them would never end. */
  readonly #late = new Set<number>()
  /** By tag, around a ring. A set, out of which as much goes as comes in, would be made anew over and over. */
  #above = new Uint8Array(FIRST)

  add(tag: number): void {
    if (tag <= this.#base) {
      if (this.#late.delete(tag)) this.#sink()
      return
    }
    if (tag - this.#base > this.#above.length) this.#makeRoom(tag)
    if (tag !== this.#base + 1) this.#above[tag & (this.#above.length - 1)] = 1
    else {
      this.#rise(tag)
      this.#sink()
    }
  }

  /** `base` is settled, and so are those right behind it. */
  #rise(base: number): void {
    const above = this.#above
    const mask = above.length - 1
    let to = base
    while (above[(to + 1) & mask] === 1) above[++to & mask] = 0
    this.#base = to
  }

  #sink(): void {
    this.floor = this.#base
    for (const oldest of this.#late) {
      this.floor = oldest - 1
      break
    }
  }

  #makeRoom(tag: number): void {
    const wanted = tag - this.#base
    if (this.#above.length < MOST) this.#grow(Math.min(wanted, MOST))
    if (wanted > MOST) this.#leaveBehind(tag - MOST / 2)
  }

  #grow(wanted: number): void {
    const before = this.#above
    let { length } = before
    while (length < wanted) length *= 2
    const above = new Uint8Array(length)
    for (let tag = this.#base + 1; tag <= this.#base + before.length; tag++) above[tag & (length - 1)] = before[tag & (before.length - 1)]!
    this.#above = above
  }

  /** What is not settled up to `base` is late from now on. */
  #leaveBehind(base: number): void {
    const above = this.#above
    const mask = above.length - 1
    // A ring behind the base nothing is known of: it is not settled, whatever the byte says of its like.
    const known = Math.min(base, this.#base + above.length)
    for (let tag = this.#base + 1; tag <= known; tag++) {
      if (above[tag & mask] === 1) above[tag & mask] = 0
      else this.#late.add(tag)
    }
    for (let tag = known + 1; tag <= base; tag++) this.#late.add(tag)
    this.#rise(base)
  }
}
