import { exponentialDelay } from '../../util/backoff.js'

/** After this many failed starts in a row, with no worker up, the jobs that wait reject. */
const MAX_FAILED_STARTS = 3
/** The same for failures that say nothing about the modules: a worker that had come up died before it accepted a job, or was killed from outside; or no process could be made. */
const MAX_UNPROVEN = 10
const FIRST_BACK_OFF_MS = 100
const MAX_BACK_OFF_MS = 30_000
/** The longest back-off after those, ms. */
const MAX_UNPROVEN_BACK_OFF_MS = 1_000
/** The first job has the machine to itself for this long, at most, before a second worker is started, ms. */
const FIRST_JOB_MS = 20
/** A start after a timeout gets twice the time, up to this many times. */
const MAX_TIMEOUT_FACTOR = 8

/** How the last starts have gone: the base of back-off and circuit breaker. Deaths of workers that had accepted a job do not count. */
export class StartRecord {
  /** The task modules are known to load. */
  everUp = false
  /** Factor by which the deadlines of the next start are multiplied. */
  timeoutFactor = 1
  /** No start before then, ms on the hub's clock. */
  notBefore = 0
  /** While jobs wait, no second worker is started before then, unless the first job has settled. ms on the hub's clock; 0: no longer in force. */
  firstJobUntil = 0
  /** Starts in a row that failed before they were up. */
  #failedStarts = 0
  /** Failures in a row that say nothing about the task modules. */
  #unproven = 0

  /** The circuit breaker: starts fail again and again. */
  get broken(): boolean {
    return this.#failedStarts >= MAX_FAILED_STARTS || this.#unproven >= MAX_UNPROVEN
  }

  /** Failures in a row of this kind. */
  failures(modulesNotAtFault: boolean): number {
    return modulesNotAtFault ? this.#unproven : this.#failedStarts
  }

  up(now: number): void {
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

  failed(now: number, modulesNotAtFault: boolean, timedOut: boolean): void {
    const failures = modulesNotAtFault ? ++this.#unproven : ++this.#failedStarts
    if (timedOut) this.timeoutFactor = Math.min(MAX_TIMEOUT_FACTOR, 2 * this.timeoutFactor)
    this.notBefore = now + exponentialDelay(failures, FIRST_BACK_OFF_MS, modulesNotAtFault ? MAX_UNPROVEN_BACK_OFF_MS : MAX_BACK_OFF_MS)
  }

  /** Forgets the failures so far: the next start need not wait, and counts as the first. */
  reset(): void {
    this.#failedStarts = 0
    this.#unproven = 0
    this.notBefore = 0
  }

  /** A job was accepted: workers are known to take up jobs. True: the next start need not wait any more. */
  proven(): boolean {
    if (this.#unproven === 0) return false
    this.#unproven = 0
    if (this.#failedStarts > 0) return false
    this.notBefore = 0
    return true
  }
}
