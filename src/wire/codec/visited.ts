/** Up to so many objects are found again by a scan, which costs less than hashing them. */
const SCANNED = 16

/** The objects that a walk has met, and their copies: what appears twice must arrive as one. */
export class Visited {
  readonly #from: (object | undefined)[] = []
  readonly #to: (object | undefined)[] = []
  #count = 0
  #index: Map<object, object> | undefined

  /** The copy of an object met before. */
  find(value: object): object | undefined {
    if (this.#index !== undefined) return this.#index.get(value)
    const from = this.#from
    for (let i = 0; i < this.#count; i++) if (from[i] === value) return this.#to[i]
    return undefined
  }

  keep(value: object, copy: object): void {
    if (this.#index !== undefined) {
      this.#index.set(value, copy)
      return
    }
    this.#from[this.#count] = value
    this.#to[this.#count] = copy
    if (++this.#count <= SCANNED) return
    this.#index = new Map()
    for (let i = 0; i < this.#count; i++) this.#index.set(this.#from[i]!, this.#to[i]!)
  }

  /** Emptied by hand: setting an array's `length` costs more than the few there mostly are. */
  clear(): void {
    for (let i = 0; i < this.#count; i++) this.#from[i] = this.#to[i] = undefined
    this.#count = 0
    this.#index = undefined
  }
}
