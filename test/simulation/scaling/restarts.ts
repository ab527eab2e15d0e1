import type { NodeConfig } from './node.js'

/** The demand at a time. */
interface Sample {
  readonly at: number
  readonly demand: number
}

/**
 * Finds workers that are started within `keepAlive` of a retirement although nothing more was to be done than before it: the highest demand between the
 * retirement and the start is not above the highest in the `keepAlive` before the retirement.
 */
export class Restarts {
  readonly #keepAlive: number
  #samples: Sample[] = []
  #retiredAt = Number.NEGATIVE_INFINITY
  #before = 0

  constructor({ keepAlive }: NodeConfig) {
    this.#keepAlive = keepAlive
  }

  runs(jobs: number, at: number): void {
    if (jobs > (this.#samples.at(-1)?.demand ?? 0)) this.#add(jobs, at)
  }

  look(at: number, demand: () => number): void {
    this.#add(demand(), at)
  }

  #add(demand: number, at: number): void {
    this.#samples.push({ at, demand })
    if (this.#samples.length > 2_000) this.#samples = this.#samples.filter((sample) => sample.at >= at - 2 * this.#keepAlive)
  }

  retired(at: number): void {
    this.#before = this.#peak(at - this.#keepAlive)
    this.#retiredAt = at
  }

  #peak(from: number): number {
    return this.#samples.reduce((most, sample) => (sample.at >= from ? Math.max(most, sample.demand) : most), 0)
  }

  /** What is wrong with a start now. */
  started(at: number, demand: number): string | undefined {
    if (at - this.#retiredAt > this.#keepAlive) return undefined
    const since = Math.max(demand, this.#peak(this.#retiredAt))
    if (since > this.#before) return undefined
    return `starts a worker ${Math.round(at - this.#retiredAt)} ms after it retired one: the demand was ${this.#before.toFixed(1)} before and is ${since.toFixed(1)}`
  }
}
