/** One listener for each signal, however many deliveries hang on it: hundreds share the channel that brought them. */
export class Generations<T> {
  readonly #generations = new Map<AbortSignal, { members: Set<T>; listener: () => void }>()
  readonly #onGone: (member: T) => void

  constructor(onGone: (member: T) => void) {
    this.#onGone = onGone
  }

  watch(gone: AbortSignal, member: T): void {
    let generation = this.#generations.get(gone)
    if (generation === undefined) {
      generation = { members: new Set(), listener: () => this.#ended(gone) }
      this.#generations.set(gone, generation)
      gone.addEventListener('abort', generation.listener, { once: true })
    }
    generation.members.add(member)
  }

  forget(gone: AbortSignal, member: T): void {
    const generation = this.#generations.get(gone)
    if (!generation?.members.delete(member) || generation.members.size > 0) return
    // Where each delivery has a signal of its own, nothing must be left of those that are done.
    this.#generations.delete(gone)
    gone.removeEventListener('abort', generation.listener)
  }

  #ended(gone: AbortSignal): void {
    const generation = this.#generations.get(gone)
    this.#generations.delete(gone)
    for (const member of generation?.members ?? []) this.#onGone(member)
  }
}
