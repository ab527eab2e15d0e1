/** Which objects the walk has met, and their copies: what appears twice must arrive as one. */
export class Seen {
  #from: object[] = []
  #to: unknown[] = []
  #map: Map<object, unknown> | undefined

  /** The copy of an object met before. */
  get(value: object): unknown {
    if (this.#map !== undefined) return this.#map.get(value)
    // Most values hold a handful of objects: a scan of these costs less than hashing them.
    const i = this.#from.indexOf(value)
    return i < 0 ? undefined : this.#to[i]
  }

  set(value: object, copy: unknown): void {
    if (this.#map !== undefined) {
      this.#map.set(value, copy)
      return
    }
    this.#from.push(value)
    this.#to.push(copy)
    if (this.#from.length > 16) {
      this.#map = new Map()
      for (const [i, from] of this.#from.entries()) this.#map.set(from, this.#to[i])
    }
  }
}
