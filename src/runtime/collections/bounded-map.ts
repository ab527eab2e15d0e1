/**
 * A map of bounded size: it keeps at least the newest `max` entries and at most twice as many. It drops old entries by the whole half, so
 * that no entry is searched for. Most keys that are asked for are in no half: their marks tell that, and spare two look-ups in large tables.
 */
export class BoundedMap<V> {
  #young: Half<V>
  #old: Half<V>
  readonly #max: number

  constructor(max: number) {
    this.#max = max
    this.#young = new Half(max)
    this.#old = new Half(max)
  }

  get isEmpty(): boolean {
    return this.#young.entries.size === 0 && this.#old.entries.size === 0
  }

  /** Older ones first. */
  values(): V[] {
    const young = this.#young.entries
    const old = [...this.#old.entries].filter(([key]) => !young.has(key))
    return [...old.map(([, value]) => value), ...young.values()]
  }

  get(key: string): V | undefined {
    const hash = hashOf(key)
    return this.#young.get(key, hash) ?? this.#old.get(key, hash)
  }

  has(key: string): boolean {
    const hash = hashOf(key)
    return this.#young.has(key, hash) || this.#old.has(key, hash)
  }

  delete(key: string): void {
    this.#young.entries.delete(key)
    this.#old.entries.delete(key)
  }

  set(key: string, value: V): void {
    this.#young.set(key, value)
    if (this.#young.entries.size < this.#max) return
    const emptied = this.#old
    this.#old = this.#young
    emptied.clear()
    this.#young = emptied
  }
}

/** Marks for each entry of a full half: one key in nine that is not there finds a mark. */
const MARKS_PER_ENTRY = 8
const MOST_MARKS = 2 ** 24

class Half<V> {
  entries = new Map<string, V>()
  /** One bit for each hash of a key that was set. Made with the first entry: most maps have none. */
  #marks: Uint32Array | undefined
  /** The number of marks, a power of two, less 1. */
  readonly #mask: number

  constructor(max: number) {
    this.#mask = 2 ** Math.ceil(Math.log2(Math.max(32, Math.min(MARKS_PER_ENTRY * max, MOST_MARKS)))) - 1
  }

  /** False: no entry has a key of this hash. */
  #mayHave(hash: number): boolean {
    const mark = hash & this.#mask
    return this.#marks !== undefined && (this.#marks[mark >>> 5]! & (1 << (mark & 31))) !== 0
  }

  get(key: string, hash: number): V | undefined {
    return this.#mayHave(hash) ? this.entries.get(key) : undefined
  }

  has(key: string, hash: number): boolean {
    return this.#mayHave(hash) && this.entries.has(key)
  }

  set(key: string, value: V): void {
    this.#marks ??= new Uint32Array((this.#mask + 1) / 32)
    const mark = hashOf(key) & this.#mask
    this.#marks[mark >>> 5]! |= 1 << (mark & 31)
    this.entries.set(key, value)
  }

  clear(): void {
    this.entries = new Map()
    this.#marks?.fill(0)
  }
}

/** So many characters at the end of a key are hashed: what differs is mostly there. */
const HASHED = 12

/** Not negative. */
const hashOf = (key: string): number => {
  let hash = key.length
  for (let i = Math.max(0, key.length - HASHED); i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b_3c6d)
  return (hash ^ (hash >>> 13)) >>> 1
}
