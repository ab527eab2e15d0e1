import type { JobRecord } from '../jobs/job.js'
import type { PoolWorker } from '../worker/worker.js'

/** Jobs in nobody's hands but the fleet's: those that a death left, and shares of broadcasts whose worker is gone or still to come. */
export class OrphanedJobs {
  /** Each for one worker to run one after another, before anything else. */
  readonly #groups: JobRecord[][] = []
  /** Each for a worker that its broadcast has not asked. */
  #shares: JobRecord[] = []

  get empty(): boolean {
    return this.#groups.length === 0 && this.#shares.length === 0
  }

  /** Jobs that run again. A share of a broadcast must not go where another one was: it goes its own way. */
  group(jobs: readonly JobRecord[]): void {
    const others = jobs.filter((job) => job.broadcast === undefined)
    if (others.length > 0) this.#groups.push(others)
    this.share(jobs.filter((job) => job.broadcast !== undefined))
  }

  share(jobs: readonly JobRecord[]): void {
    this.#shares.push(...jobs.filter((job) => !job.isSettled))
  }

  /** Hands a group each to those given, in their order. True: there is something to dispatch. */
  assignGroups(workers: readonly PoolWorker[]): boolean {
    let given = false
    for (const worker of workers) {
      const group = this.#groups.shift()
      if (group === undefined) break
      worker.isolatedRetries = group
      given = true
    }
    return given
  }

  /** Hands each share to one of these whom its broadcast has not asked. True: there is something to dispatch. */
  assignShares(workers: readonly PoolWorker[]): boolean {
    const before = this.#shares.length
    this.#shares = this.#shares.filter((share) => {
      if (share.isSettled) return false
      const again = share.attempt > 1
      const worker = workers.find((each) => !share.broadcast?.hasAsked(each) && !(again && hasIsolatedRetries(each)))
      if (worker === undefined) return true
      share.broadcast?.ask(worker)
      ;(again ? worker.isolatedRetries : worker.pinned).push(share)
      return false
    })
    return this.#shares.length < before
  }

  /** Takes out the shares that none of these can answer, for all have been asked. */
  unanswerable(workers: readonly PoolWorker[]): JobRecord[] {
    const without = this.#shares.filter((share) => workers.every((worker) => share.broadcast?.hasAsked(worker)))
    if (without.length > 0) this.#shares = this.#shares.filter((share) => !without.includes(share))
    return without
  }

  /** Everything, for the end of the pool. */
  takeAll(): JobRecord[] {
    return [...this.#groups.splice(0).flat(), ...this.#shares.splice(0)]
  }
}

export const hasIsolatedRetries = ({ isolatedRetries: suspects, isolatedRetry: suspect }: PoolWorker): boolean => suspects.length > 0 || suspect !== undefined
