/**
 * The answers that wait in remembered outcomes for a second chance: what delivered their jobs was gone, or the broker refused them.
 * Bounded in number and bytes, the oldest dropped first. Only the answer is dropped, whose caller then waits in vain; the outcome
 * stays, and settles its job when that is delivered again.
 */
import type { PoolLogger } from '../pool/types.js'
import type { Outcome } from './settler.js'

const MAX_BYTES = 64 * 1024 * 1024

export class UnsentReplies {
  readonly #log: PoolLogger | undefined
  readonly #max: number
  /** Bytes by outcome, the oldest first. */
  readonly #kept = new Map<Outcome, number>()
  #bytes = 0
  #told = false

  /** `max`: how many. */
  constructor(log: PoolLogger | undefined, max: number) {
    this.#log = log
    this.#max = max
  }

  /** It was not sent. What will not be recognised again needs no answer. */
  keep(outcome: Outcome): void {
    this.forget(outcome)
    const { reply, remembered } = outcome
    if (reply === undefined || !remembered) return
    this.#kept.set(outcome, reply.body.length)
    this.#bytes += reply.body.length
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= MAX_BYTES && this.#kept.size <= this.#max) break
      if (this.#bytes > MAX_BYTES) this.#tell()
      this.forget(oldest)
      oldest.reply = undefined
    }
  }

  /** It is on its way. */
  forget(outcome: Outcome): void {
    this.#bytes -= this.#kept.get(outcome) ?? 0
    this.#kept.delete(outcome)
  }

  #tell(): void {
    if (this.#told) return
    this.#told = true
    this.#log?.warn(
      { bytes: this.#bytes },
      `Answers that could not be sent take more than ${MAX_BYTES / 1_048_576} MiB: the oldest are dropped, now and from now on. Their jobs are settled all the same; who waits for such an answer runs into its timeout.`,
    )
  }
}
