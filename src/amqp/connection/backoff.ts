/** Waits between attempts: at once, then 100 ms, doubling to 10 s, a fifth of each taken off at random so that a farm does not come back in step. */

const FIRST = 100
const LONGEST = 10_000
const JITTER = 0.2

/** A life this long counts as a success: the next death is answered at once again. */
const GOOD_LIFE = 5_000

export class Backoff {
  #failures = 0
  #since = 0

  /** ms to wait before the next attempt. */
  next(): number {
    if (this.#since !== 0 && performance.now() - this.#since >= GOOD_LIFE) this.#failures = 0
    this.#since = 0
    const base = this.#failures === 0 ? 0 : Math.min(LONGEST, FIRST * 2 ** (this.#failures - 1))
    this.#failures++
    return Math.round(base * (1 - JITTER * Math.random()))
  }

  /** It came up; judged good when it has lasted. */
  up(): void {
    this.#since = performance.now()
  }
}
