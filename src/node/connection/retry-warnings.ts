import { performance } from 'node:perf_hooks'

/** ms within which a warning is not repeated. */
const REPEAT_WARNING_AFTER = 10_000

/** Warnings that recur at each attempt: each text is passed on once in a while. */
export class RetryWarnings {
  readonly #warn: (message: string) => void
  /** When each was passed on, ms on the monotonic clock. */
  readonly #warned = new Map<string, number>()

  constructor(warn: (message: string) => void) {
    this.#warn = warn
  }

  warn(message: string): void {
    const now = performance.now()
    for (const [each, at] of this.#warned) if (now - at > REPEAT_WARNING_AFTER) this.#warned.delete(each)
    if (this.#warned.has(message)) return
    this.#warned.set(message, now)
    this.#warn(message)
  }
}
