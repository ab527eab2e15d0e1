import { exponentialDelay } from '../../util/backoff.js'

/** After this many failed starts in a row, with no worker up, the jobs that wait reject. */
const MAX_FAILED_STARTS = 3
/** Limit for failures that do not blame the task modules: a worker died before it accepted a job, was killed from outside, or could not be spawned. */
const MAX_OTHER_FAILURES = 10
const FIRST_BACK_OFF_MS = 100
const MAX_BACK_OFF_MS = 30_000
/** The longest back-off after failures that do not blame the task modules, ms. */
const MAX_OTHER_BACK_OFF_MS = 1_000
/** The second worker starts when the first job settles, or after this time, ms. */
const FIRST_JOB_MS = 20
/** Weight of the newest start in the mean time of a start. */
const ALPHA = 1 / 4
/** Each start that follows a timeout gets twice the time. The factor grows no further than this. */
const MAX_TIMEOUT_FACTOR = 8

/** How the last starts have gone: the base of back-off and circuit breaker. Deaths of workers that had accepted a job do not count. */
export class StartRecord {
  /** The task modules are known to load. */
  everUp = false
  /** Factor by which the deadlines of the next start are multiplied. */
  timeoutFactor = 1
  /** No worker is started before this time, ms on the hub's clock. */
  notBefore = 0
  /** While jobs wait, no second worker is started before this time, ms on the hub's clock; 0: the first job has settled, or no worker was up yet. */
  firstJobUntil = 0
  /** Where the main thread was when the last start timed out. */
  #lastPlace: string | undefined
  /** Starts in a row that failed before they were up. */
  #failedStarts = 0
  /** Failures in a row that do not blame the task modules. */
  #otherFailures = 0
  #time: number | undefined

  /** The circuit breaker: starts fail again and again. */
  get broken(): boolean {
    return this.#failedStarts >= MAX_FAILED_STARTS || this.#otherFailures >= MAX_OTHER_FAILURES
  }

  /** The last start has failed. */
  get failing(): boolean {
    return this.#failedStarts > 0 || this.#otherFailures > 0
  }

  /** Mean time from the start of a process until its worker is up, recent ones first, ms; undefined: none was up yet. */
  get time(): number | undefined {
    return this.#time
  }

  /** Failures in a row, of the kind that does or does not blame the task modules. */
  failures(modulesNotAtFault: boolean): number {
    return modulesNotAtFault ? this.#otherFailures : this.#failedStarts
  }

  /** `time`: ms from the start of its process. */
  up(now: number, time: number): void {
    this.#time = this.#time === undefined ? time : this.#time + ALPHA * (time - this.#time)
    if (!this.everUp) this.firstJobUntil = now + FIRST_JOB_MS
    this.everUp = true
    this.timeoutFactor = 1
    this.#failedStarts = 0
  }

  /** A job has settled. True: it was the first, and the next start may wait for it. */
  settled(): boolean {
    if (this.firstJobUntil === 0) return false
    this.firstJobUntil = 0
    return true
  }

  /** `place`: where the main thread was when the start timed out. */
  failed(now: number, modulesNotAtFault: boolean, timedOut: boolean, place?: string): void {
    const failures = modulesNotAtFault ? ++this.#otherFailures : ++this.#failedStarts
    // The main thread is in a loop if it is at the same place again: more time would not help.
    const loops = place !== undefined && place === this.#lastPlace
    this.#lastPlace = place
    if (loops) this.timeoutFactor = 1
    else if (timedOut) this.timeoutFactor = Math.min(MAX_TIMEOUT_FACTOR, 2 * this.timeoutFactor)
    this.notBefore = now + exponentialDelay(failures, FIRST_BACK_OFF_MS, modulesNotAtFault ? MAX_OTHER_BACK_OFF_MS : MAX_BACK_OFF_MS)
  }

  /** Forgets the failures so far: the next start need not wait, and counts as the first. */
  reset(): void {
    this.#failedStarts = 0
    this.#otherFailures = 0
    this.notBefore = 0
  }

  /** A job was accepted: workers are known to take up jobs. True: the next start need not wait any more. */
  jobAccepted(): boolean {
    if (this.#otherFailures === 0) return false
    this.#otherFailures = 0
    if (this.#failedStarts > 0) return false
    this.notBefore = 0
    return true
  }
}
