import type { JobRecord } from './job.js'
import type { PoolWorker } from './worker.js'

/** Jobs in nobody's hands but the fleet's: those that a death left, and those of broadcasts whose worker is gone or still to come. */
export class Leftovers {
  /** Each for one worker to run one after another, before anything else. */
  readonly #groups: JobRecord[][] = []
  /** Broadcast jobs whose worker died. */
  readonly #orphans: JobRecord[] = []
  /** Broadcast jobs for workers that are wanted and not started yet. */
  readonly #unborn: JobRecord[] = []

  get empty(): boolean {
    return this.#groups.length === 0 && this.#orphans.length === 0
  }

  group(jobs: JobRecord[]): void {
    this.#groups.push(jobs)
  }

  orphan(jobs: readonly JobRecord[]): void {
    this.#orphans.push(...jobs.filter((job) => !job.isSettled))
  }

  awaitBirth(job: JobRecord): void {
    this.#unborn.push(job)
  }

  /** A worker is born: the job that waited for it. */
  born(): JobRecord[] {
    return this.#unborn.splice(0, 1)
  }

  /** Nobody is to be started any more: whoever is there answers. */
  noMoreBirths(): void {
    this.#orphans.push(...this.#unborn.splice(0))
  }

  /** Hands out to workers that have just come up, and else to the others given. True: there is something to dispatch. */
  handOut(fresh: readonly PoolWorker[], others: readonly PoolWorker[]): boolean {
    let given = false
    for (const worker of [...fresh, ...others]) {
      const group = this.#groups.shift()
      if (group === undefined) break
      worker.suspects = group
      given = true
    }
    const answering = fresh[0] ?? others[0]
    if (answering === undefined) return given
    given ||= this.#orphans.length > 0
    answering.pinned.push(...this.#orphans.splice(0))
    return given
  }

  /** Everything, for the end of the pool. */
  takeAll(): JobRecord[] {
    return [...this.#groups.splice(0).flat(), ...this.#orphans.splice(0), ...this.#unborn.splice(0)]
  }
}
