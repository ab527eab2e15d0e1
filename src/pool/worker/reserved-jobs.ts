import type { JobRecord } from '../jobs/job.js'

/** Jobs that wait for one worker and are not in the job queue: isolated retries (of a dead worker, run one after another and alone) and shares of broadcasts. */
export class ReservedJobs {
  #retries: JobRecord[] = []
  #retrying: JobRecord | undefined
  #shares: JobRecord[] = []

  /** No job waits here, and no isolated retry runs. */
  get idle(): boolean {
    return this.#retrying === undefined && this.#retries.length === 0 && this.#shares.length === 0
  }

  /** No job waits here. */
  get empty(): boolean {
    return this.#retries.length === 0 && this.#shares.length === 0
  }

  /** Isolated retries wait or run here. */
  get isolated(): boolean {
    return this.#retrying !== undefined || this.#retries.length > 0
  }

  /** The isolated retry that runs here. No other job runs beside it until it settles, or a stream sends its first item. */
  get retrying(): JobRecord | undefined {
    return this.#retrying
  }

  get hasRetries(): boolean {
    return this.#retries.length > 0
  }

  get hasShares(): boolean {
    return this.#shares.length > 0
  }

  /** Adds jobs of a dead worker, which this worker runs again. */
  isolate(jobs: readonly JobRecord[]): void {
    this.#retries.push(...jobs)
  }

  /** The share of a broadcast that this worker is to run. */
  addShare(job: JobRecord): void {
    this.#shares.push(job)
  }

  /** A job that was recalled takes its old place. */
  putBackRetry(job: JobRecord): void {
    insert(this.#retries, job)
  }

  /** A share that was recalled takes its old place. */
  putBackShare(job: JobRecord): void {
    insert(this.#shares, job)
  }

  /** Takes the next isolated retry. The caller writes it at once. */
  nextRetry(): JobRecord | undefined {
    return this.#retries.shift()
  }

  nextShare(): JobRecord | undefined {
    return this.#shares.shift()
  }

  /** This isolated retry is written to the worker. */
  beginRetry(job: JobRecord): void {
    this.#retrying = job
  }

  /** Ends the isolation if its job no longer runs, or has sent its first item. */
  endRetry(): void {
    const job = this.#retrying
    if (job !== undefined && (job.isSettled || job.streamed || job.state === 'queued')) this.#retrying = undefined
  }

  takeRetries(): JobRecord[] {
    return this.#retries.splice(0)
  }

  takeShares(): JobRecord[] {
    return this.#shares.splice(0)
  }
}

const insert = (list: JobRecord[], job: JobRecord): void => {
  list.push(job)
  list.sort((a, b) => a.number - b.number)
}
