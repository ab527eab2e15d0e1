/** The highest of a value that changes, over any time that ends now. */
class Peaks {
  /** Falling; each holds until the next. */
  readonly #samples: { readonly at: number; readonly value: number }[] = []
  value = 0

  change(to: number, at: number): void {
    this.#push(this.value, at)
    this.#push(to, at)
    this.value = to
  }

  #push(value: number, at: number): void {
    while (this.#samples.length > 0 && this.#samples.at(-1)!.value <= value) this.#samples.pop()
    this.#samples.push({ at, value })
  }

  since(at: number): number {
    return Math.max(this.value, this.#samples.find((sample) => sample.at >= at)?.value ?? 0)
  }
}

/**
 * Finds workers that are started within `keepAlive` of a retirement although nothing more was to be done than before it: since the retirement, neither was the
 * demand above what was needed in the `keepAlive` before it, nor were there more jobs at once. The demand, in workers, is that of the jobs that run and wait.
 * A job that leaves its thread free is worth a slot, another a worker; one that takes less than two starts of a worker is worth the part of that that it
 * takes. What ran was needed, and what waited for `scaleUpAfter` in a queue that no other node consumes.
 */
export class Restarts {
  readonly #keepAlive: number
  readonly #demand = new Peaks()
  readonly #needed = new Peaks()
  readonly #jobs = new Peaks()
  #retiredAt = Number.NEGATIVE_INFINITY
  #before = 0
  #jobsBefore = 0

  constructor(keepAlive: number) {
    this.#keepAlive = keepAlive
  }

  demands(by: number, at: number): void {
    this.#demand.change(this.#demand.value + by, at)
  }

  /** Jobs that run or wait. */
  has(by: number, at: number): void {
    this.#jobs.change(this.#jobs.value + by, at)
  }

  mostJobsSince(at: number): number {
    return this.#jobs.since(at)
  }

  needs(by: number, at: number): void {
    this.#needed.change(this.#needed.value + by, at)
  }

  retired(at: number): void {
    this.#before = this.#needed.since(at - this.#keepAlive)
    this.#jobsBefore = this.#jobs.since(at - this.#keepAlive)
    this.#retiredAt = at
  }

  /** What is wrong with a start now. */
  started(at: number): string | undefined {
    const passed = at - this.#retiredAt
    if (passed > this.#keepAlive) return undefined
    const since = this.#demand.since(this.#retiredAt)
    // Sums of fractions.
    if (since > this.#before + 0.001 || this.#jobs.since(this.#retiredAt) > this.#jobsBefore) return undefined
    return `starts a worker ${Math.round(passed)} ms after it retired one: ${this.#before.toFixed(1)} were needed before, and the demand is ${since.toFixed(1)}`
  }
}
