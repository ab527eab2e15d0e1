/** Bytes to begin with: a power of two, as ever. */
const FIRST = 1_024

/** Which deliveries of one channel are settled: all up to the floor, and some above it. A channel counts its deliveries from 1. */
export class SettledTags {
  /** Every delivery up to this tag is settled. */
  floor = 0
  /** By tag, around a ring. A set, out of which as much goes as comes in, would be made anew over and over. */
  #above = new Uint8Array(FIRST)

  add(tag: number): void {
    if (tag <= this.floor) return
    if (tag !== this.floor + 1) {
      if (tag - this.floor > this.#above.length) this.#grow(tag - this.floor)
      this.#above[tag & (this.#above.length - 1)] = 1
      return
    }
    const above = this.#above
    const mask = above.length - 1
    let floor = tag
    while (above[(floor + 1) & mask] === 1) above[++floor & mask] = 0
    this.floor = floor
  }

  #grow(wanted: number): void {
    const before = this.#above
    let { length } = before
    while (length < wanted) length *= 2
    const above = new Uint8Array(length)
    for (let tag = this.floor + 1; tag <= this.floor + before.length; tag++) above[tag & (length - 1)] = before[tag & (before.length - 1)]!
    this.#above = above
  }
}
