/** Size of the ring at first, and at most. Powers of two. */
const INITIAL_BYTES = 1_024
const MAX_BYTES = 65_536

/** Which deliveries of one channel are settled: all up to the floor, and some above it. Delivery tags count from 1 on each channel. */
export class SettledTags {
  /** Every delivery up to this tag is settled. */
  floor = 0
  /** Every delivery up to this tag is settled or in `#unsettledBelow`. Each later delivery has a byte in the ring. */
  #base = 0
  /** Unsettled tags up to the base, ascending. Thousands of later deliveries are settled already: without this set, the ring would grow without end. */
  readonly #unsettledBelow = new Set<number>()
  /** 1: settled. A ring indexed by tag: a Set with as many deletions as additions is rehashed again and again. */
  #ring = new Uint8Array(INITIAL_BYTES)

  add(tag: number): void {
    if (tag <= this.#base) {
      if (this.#unsettledBelow.delete(tag)) this.#updateFloor()
      return
    }
    if (tag - this.#base > this.#ring.length) this.#extend(tag)
    if (tag !== this.#base + 1) this.#ring[tag & (this.#ring.length - 1)] = 1
    else {
      this.#advanceBase(tag)
      this.#updateFloor()
    }
  }

  /** Moves the base to `base`, which is settled, and over the settled tags that follow it. */
  #advanceBase(base: number): void {
    const ring = this.#ring
    const mask = ring.length - 1
    let to = base
    while (ring[(to + 1) & mask] === 1) ring[++to & mask] = 0
    this.#base = to
  }

  #updateFloor(): void {
    this.floor = this.#base
    for (const oldest of this.#unsettledBelow) {
      this.floor = oldest - 1
      break
    }
  }

  #extend(tag: number): void {
    const wanted = tag - this.#base
    if (this.#ring.length < MAX_BYTES) this.#grow(Math.min(wanted, MAX_BYTES))
    if (wanted > MAX_BYTES) this.#moveBase(tag - MAX_BYTES / 2)
  }

  #grow(wanted: number): void {
    const before = this.#ring
    let { length } = before
    while (length < wanted) length *= 2
    const ring = new Uint8Array(length)
    for (let tag = this.#base + 1; tag <= this.#base + before.length; tag++) ring[tag & (length - 1)] = before[tag & (before.length - 1)]!
    this.#ring = ring
  }

  /** Moves the base up to `base`; unsettled tags below it go to `#unsettledBelow`. */
  #moveBase(base: number): void {
    const ring = this.#ring
    const mask = ring.length - 1
    // The ring covers tags up to here. Later tags are unsettled.
    const known = Math.min(base, this.#base + ring.length)
    for (let tag = this.#base + 1; tag <= known; tag++) {
      if (ring[tag & mask] === 1) ring[tag & mask] = 0
      else this.#unsettledBelow.add(tag)
    }
    for (let tag = known + 1; tag <= base; tag++) this.#unsettledBelow.add(tag)
    this.#advanceBase(base)
  }
}
