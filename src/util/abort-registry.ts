/** One listener per AbortSignal, however many jobs wait on it: a signal that a whole server shares stays cheap and raises no MaxListenersExceededWarning. */
export class AbortRegistry<T> {
  readonly #signals = new Map<AbortSignal, { items: Set<T>; listener: () => void }>()
  readonly #onAbort: (item: T, reason: unknown) => void

  constructor(onAbort: (item: T, reason: unknown) => void) {
    this.#onAbort = onAbort
  }

  /** Calls `onAbort` for `item` when `signal` aborts. Returns the function that takes the item out again. */
  watch(signal: AbortSignal, item: T): () => void {
    let entry = this.#signals.get(signal)
    if (entry === undefined) {
      const items = new Set<T>()
      const listener = (): void => {
        this.#signals.delete(signal)
        for (const each of [...items]) this.#onAbort(each, signal.reason)
      }
      entry = { items, listener }
      this.#signals.set(signal, entry)
      signal.addEventListener('abort', listener, { once: true })
    }
    entry.items.add(item)
    const { items, listener } = entry
    return () => {
      items.delete(item)
      if (items.size > 0) return
      signal.removeEventListener('abort', listener)
      if (this.#signals.get(signal)?.items === items) this.#signals.delete(signal)
    }
  }
}
