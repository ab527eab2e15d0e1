/**
 * Bounds the bytes that unpacked bodies take together: a few small messages could otherwise fill the memory of the node. A job counts with the
 * largest size until its body is unpacked, and then with its own size until it has ended. Jobs beyond the bound wait in order.
 */
export class UnpackBudget<Job extends object> {
  readonly #total: number
  readonly #largest: number
  readonly #unpack: (job: Job) => void
  /** Bytes of each job that has begun to unpack. */
  readonly #taken = new Map<Job, number>()
  readonly #waiting = new Set<Job>()
  #sum = 0

  /** `total` and `largest`, of all bodies and of one: bytes. */
  constructor(total: number, largest: number, unpack: (job: Job) => void) {
    this.#total = total
    this.#largest = largest
    this.#unpack = unpack
  }

  /** Jobs that wait. */
  get size(): number {
    return this.#waiting.size
  }

  enter(job: Job): void {
    this.#waiting.add(job)
    this.#next()
  }

  waits(job: Job): boolean {
    return this.#waiting.has(job)
  }

  /** The body of the job is unpacked and has `bytes` bytes. */
  unpacked(job: Job, bytes: number): void {
    if (!this.#taken.has(job)) return
    this.#take(job, bytes)
    this.#next()
  }

  /** The job has ended, or is not here any more. */
  leave(job: Job): void {
    if (this.#waiting.delete(job) || !this.#taken.has(job)) return
    this.#take(job, 0)
    this.#taken.delete(job)
    this.#next()
  }

  #take(job: Job, bytes: number): void {
    this.#sum += bytes - (this.#taken.get(job) ?? 0)
    this.#taken.set(job, bytes)
  }

  #next(): void {
    for (const job of this.#waiting) {
      if (this.#sum + this.#largest > this.#total) return
      this.#waiting.delete(job)
      this.#take(job, this.#largest)
      this.#unpack(job)
    }
  }
}
