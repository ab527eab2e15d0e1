import { performance } from 'node:perf_hooks'
import { exponentialDelay, jittered } from '../../util/backoff.js'

/** ms before the second retry; doubled by each further failure, up to `MAX_DELAY`. The first retry follows at once. */
const FIRST_DELAY = 100
const MAX_DELAY = 10_000
/** Share of each delay that is taken off at random, so that many nodes do not reconnect in step. */
const JITTER = 0.2

/** ms after which a connection or channel counts as stable: when it fails later, the delays begin anew. */
const STABLE_AFTER = 5_000

/** The delays between attempts to open a connection or a channel. */
export class ReconnectBackoff {
  #failures = 0
  #openedAt = 0

  /** ms to wait before the next attempt. */
  next(): number {
    if (this.#openedAt !== 0 && performance.now() - this.#openedAt >= STABLE_AFTER) this.#failures = 0
    this.#openedAt = 0
    const failures = this.#failures++
    return failures === 0 ? 0 : jittered(exponentialDelay(failures, FIRST_DELAY, MAX_DELAY), JITTER)
  }

  /** An attempt succeeded. The failures before it are forgotten only once it has proved stable. */
  opened(): void {
    this.#openedAt = performance.now()
  }
}
