/** Up to so many objects are found by a scan, which costs less than hashing them. */
const MAX_SCANNED = 16

/** The objects that a walk has visited, and their copies: an object that appears twice must arrive as one. */
export class Visited {
  readonly #from: (object | undefined)[] = []
  readonly #to: (object | undefined)[] = []
  #count = 0
  #index: Map<object, object> | undefined

  /** The copy of an object visited before. */
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
    if (++this.#count <= MAX_SCANNED) return
    this.#index = new Map()
    for (let i = 0; i < this.#count; i++) this.#index.set(this.#from[i]!, this.#to[i]!)
  }

  /** Clears the few entries one by one: setting an array's `length` costs more. */
  clear(): void {
    for (let i = 0; i < this.#count; i++) this.#from[i] = this.#to[i] = undefined
    this.#count = 0
    this.#index = undefined
  }
}
