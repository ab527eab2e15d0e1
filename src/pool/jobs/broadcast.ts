/** One call of `pool.broadcast`: which workers have been asked, each once, and which shares no worker can answer. */
export class Broadcast {
  readonly #asked = new Set<number>()
  readonly #unanswered = new Set<number>()

  /** `worker`: the worker that a share was given to, or is kept for. */
  ask({ id }: { readonly id: number }): void {
    this.#asked.add(id)
  }

  hasAsked({ id }: { readonly id: number }): boolean {
    return this.#asked.has(id)
  }

  /** The worker that this share (a job) was for is gone for good. */
  markUnanswered({ number }: { readonly number: number }): void {
    this.#unanswered.add(number)
  }

  isUnanswered({ number }: { readonly number: number }): boolean {
    return this.#unanswered.has(number)
  }
}
