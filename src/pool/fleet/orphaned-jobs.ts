import type { JobRecord } from '../jobs/job.js'
import type { PoolWorker } from '../worker/worker.js'

/**
 * Jobs that are neither in the job queue nor held by a worker, until the fleet assigns them to one: isolated retries of dead workers, and shares of
 * broadcasts whose worker is gone or still to come. `jobs/jobs-of-dead-worker.ts` decides which jobs of a dead worker come here.
 */
export class OrphanedJobs {
  /** One worker runs the jobs of a group one after another, before anything else. */
  readonly #groups: JobRecord[][] = []
  /** A share is for a worker that its broadcast has not asked. */
  #shares: JobRecord[] = []

  get empty(): boolean {
    return this.#groups.length === 0 && this.#shares.length === 0
  }

  /** Adds jobs that run again as one group. Shares of broadcasts are kept apart: no worker may run two shares of one broadcast. */
  addRetries(jobs: readonly JobRecord[]): void {
    const others = jobs.filter((job) => job.broadcast === undefined)
    if (others.length > 0) this.#groups.push(others)
    this.addShares(jobs.filter((job) => job.broadcast !== undefined))
  }

  addShares(jobs: readonly JobRecord[]): void {
    this.#shares.push(...jobs.filter((job) => !job.isSettled))
  }

  /** Gives one group each to these workers, in their order. True: there is something to dispatch. */
  assignGroups(workers: readonly PoolWorker[]): boolean {
    let assigned = false
    for (const worker of workers) {
      const group = this.#groups.shift()
      if (group === undefined) break
      worker.reserved.isolate(group)
      assigned = true
    }
    return assigned
  }

  /** Gives each share to one of these workers that its broadcast has not asked. True: there is something to dispatch. */
  assignShares(workers: readonly PoolWorker[]): boolean {
    const before = this.#shares.length
    this.#shares = this.#shares.filter((share) => {
      if (share.isSettled) return false
      const again = share.attempt > 1
      const worker = workers.find((each) => !share.broadcast?.hasAsked(each) && !(again && each.reserved.isolated))
      if (worker === undefined) return true
      share.broadcast?.ask(worker)
      if (again) worker.reserved.isolate([share])
      else worker.reserved.addShare(share)
      return false
    })
    return this.#shares.length < before
  }

  /** Takes out the shares that none of these workers can answer, for all have been asked. */
  takeUnanswerable(workers: readonly PoolWorker[]): JobRecord[] {
    const without = this.#shares.filter((share) => workers.every((worker) => share.broadcast?.hasAsked(worker)))
    if (without.length > 0) this.#shares = this.#shares.filter((share) => !without.includes(share))
    return without
  }

  /** Takes out all jobs, for the end of the pool. */
  takeAll(): JobRecord[] {
    return [...this.#groups.splice(0).flat(), ...this.#shares.splice(0)]
  }
}
