import type { JobRecord } from '../jobs/job.js'

/**
 * The jobs that a worker has accepted and not answered, in order of acceptance. Mostly one, out of as many as there are jobs in its
 * life: a Map, out of which as much goes as comes in, would be made anew over and over.
 */
export class RunningJobs {
  #deliveries: number[] = []
  #jobs: JobRecord[] = []

  get size(): number {
    return this.#jobs.length
  }

  add(job: JobRecord): void {
    this.#deliveries.push(job.delivery)
    this.#jobs.push(job)
  }

  get(delivery: number): JobRecord | undefined {
    return this.#jobs[this.#deliveries.indexOf(delivery)]
  }

  /** Takes it out. */
  take(delivery: number): JobRecord | undefined {
    const at = this.#deliveries.indexOf(delivery)
    if (at === -1) return undefined
    // A call that makes an array of what goes would cost more than the rest.
    if (at === this.#jobs.length - 1) {
      this.#deliveries.pop()
      return this.#jobs.pop()
    }
    this.#deliveries.splice(at, 1)
    return this.#jobs.splice(at, 1)[0]
  }

  /** The one that has been running longest. */
  get oldest(): JobRecord | undefined {
    return this.#jobs[0]
  }

  [Symbol.iterator](): IterableIterator<JobRecord> {
    return this.#jobs[Symbol.iterator]()
  }

  /** Whether `test` holds for any. */
  some(test: (job: JobRecord) => boolean): boolean {
    return this.#jobs.some(test)
  }

  clear(): void {
    this.#deliveries = []
    this.#jobs = []
  }
}
