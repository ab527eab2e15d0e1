/** One listener for each signal, however many deliveries hang on it: hundreds share the channel that brought them. */
export class Generations {
  readonly #generations = new Map<AbortSignal, { deliveries: number; listener: () => void }>()
  readonly #onGone: (gone: AbortSignal) => void

  /** `onGone`: the signal has aborted, with one delivery or more. */
  constructor(onGone: (gone: AbortSignal) => void) {
    this.#onGone = onGone
  }

  /** A delivery hangs on it. */
  watch(gone: AbortSignal): void {
    const known = this.#generations.get(gone)
    if (known !== undefined) {
      known.deliveries++
      return
    }
    const listener = (): void => {
      this.#generations.delete(gone)
      this.#onGone(gone)
    }
    this.#generations.set(gone, { deliveries: 1, listener })
    gone.addEventListener('abort', listener, { once: true })
  }

  /** A delivery that was watched is over. */
  forget(gone: AbortSignal): void {
    const generation = this.#generations.get(gone)
    if (generation === undefined || --generation.deliveries > 0) return
    // Where each delivery has a signal of its own, nothing must be left of those that are done.
    this.#generations.delete(gone)
    gone.removeEventListener('abort', generation.listener)
  }
}
