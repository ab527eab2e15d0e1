/**
 * The claim word: one Int32 in memory shared by the worker's main thread and its watchdog, which decides whether a job
 * written ahead begins here or goes back to the job queue.
 *
 *   v >= 0   open; v is the last delivery claimed
 *   v < 0    closed; every delivery up to -v that has not been claimed is dropped
 *
 * The main thread wins a job by moving the word from its last claim to the new delivery; the watchdog closes the word by
 * moving it to a negative mark. Both do so by compare-and-exchange on the same word, so exactly one of them wins each
 * delivery. Only the main thread opens the word again, with its own last claim, and only when it next wants a job.
 */

export type ClaimWord = Int32Array

/** Deliveries of one worker stay below this, so that they fit the word with its sign; a worker that comes near it is recycled. */
export const MAX_DELIVERY = 0x7fff_0000

/** The main thread's end of the word. */
export class Claimer {
  readonly #word: ClaimWord
  readonly #index: number
  #last = 0
  #dropUpTo = 0

  constructor(word: ClaimWord, index: number) {
    this.#word = word
    this.#index = index
  }

  /** True: the delivery is this worker's and may begin. False: it was recalled and must be dropped. */
  claim(delivery: number): boolean {
    for (;;) {
      if (delivery <= this.#dropUpTo) return false
      const seen = Atomics.compareExchange(this.#word, this.#index, this.#last, delivery)
      if (seen === this.#last) {
        this.#last = delivery
        return true
      }
      this.#dropUpTo = Math.max(this.#dropUpTo, -seen)
      // Open again; should a later recall have moved the mark meanwhile, the exchange fails and the next round sees it.
      if (Atomics.compareExchange(this.#word, this.#index, seen, this.#last) !== seen) continue
    }
  }
}

/** The watchdog's end of the word. */
export class Recaller {
  readonly #word: ClaimWord
  readonly #index: number
  #lastClaimed = 0

  constructor(word: ClaimWord, index: number) {
    this.#word = word
    this.#index = index
  }

  /** Takes back every unclaimed delivery up to `upTo`; returns the last delivery that was claimed. */
  recall(upTo: number): number {
    for (;;) {
      const seen = Atomics.load(this.#word, this.#index)
      if (seen >= 0) this.#lastClaimed = seen
      if (seen >= upTo) return seen
      if (seen < 0 && -seen >= upTo) return this.#lastClaimed
      if (Atomics.compareExchange(this.#word, this.#index, seen, -upTo) === seen) return this.#lastClaimed
    }
  }
}
