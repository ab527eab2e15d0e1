import type { Hub, PendingDeadline, Reader } from '../../hub/index.js'

/** The one deadline that a worker has for what it is to do next: to say HELLO, to come up, to leave. */
export class PhaseDeadline {
  readonly #hub: Hub
  #deadline: PendingDeadline | undefined

  constructor(hub: Hub) {
    this.#hub = hub
  }

  /** Instead of the one before. */
  within(ms: number, readers: () => readonly Reader[], tooLate: () => void): void {
    this.end()
    this.#deadline = this.#hub.deadlineAfterRead(ms, readers, tooLate)
  }

  end(): void {
    this.#deadline?.cancel()
    this.#deadline = undefined
  }
}
