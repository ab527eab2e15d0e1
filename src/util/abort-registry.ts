/** One listener per AbortSignal, however many jobs or maps hang on it: a signal shared by a whole server stays cheap and warns of no leak. */
export class AbortRegistry<T> {
  readonly #signals = new Map<AbortSignal, { hanging: Set<T>; listener: () => void }>()
  readonly #end: (each: T, reason: unknown) => void

  constructor(end: (each: T, reason: unknown) => void) {
    this.#end = end
  }

  /** `one` is ended when the signal aborts; returns what undoes it. */
  watch(signal: AbortSignal, one: T): () => void {
    let entry = this.#signals.get(signal)
    if (entry === undefined) {
      const hanging = new Set<T>()
      const listener = (): void => {
        this.#signals.delete(signal)
        for (const each of [...hanging]) this.#end(each, signal.reason)
      }
      entry = { hanging, listener }
      this.#signals.set(signal, entry)
      signal.addEventListener('abort', listener, { once: true })
    }
    entry.hanging.add(one)
    const { hanging, listener } = entry
    return () => {
      hanging.delete(one)
      if (hanging.size > 0) return
      signal.removeEventListener('abort', listener)
      if (this.#signals.get(signal)?.hanging === hanging) this.#signals.delete(signal)
    }
  }
}
