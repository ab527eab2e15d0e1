/** One listener for each channel's signal, however many deliveries the channel brought. */
export class DeliveryChannels {
  readonly #channels = new Map<AbortSignal, { deliveries: number; listener: () => void }>()
  readonly #onGone: (gone: AbortSignal) => void

  /** `onGone` is called once for a signal that aborts while at least one of its deliveries is watched. */
  constructor(onGone: (gone: AbortSignal) => void) {
    this.#onGone = onGone
  }

  /** A delivery of this channel has arrived. */
  watch(gone: AbortSignal): void {
    const known = this.#channels.get(gone)
    if (known !== undefined) {
      known.deliveries++
      return
    }
    const listener = (): void => {
      this.#channels.delete(gone)
      this.#onGone(gone)
    }
    this.#channels.set(gone, { deliveries: 1, listener })
    gone.addEventListener('abort', listener, { once: true })
  }

  /** A watched delivery is over. */
  forget(gone: AbortSignal): void {
    const channel = this.#channels.get(gone)
    if (channel === undefined || --channel.deliveries > 0) return
    // A broker may give each delivery a signal of its own, so its entry must not stay behind.
    this.#channels.delete(gone)
    gone.removeEventListener('abort', channel.listener)
  }
}
