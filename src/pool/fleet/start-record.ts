/** Starts in a row that may fail, with no worker up, until the jobs that wait are told. */
const MAX_FAILED_STARTS = 3
/** The same for what says nothing about the modules: deaths of workers that had come up and accepted no job, or that somebody has killed, and processes that could not be made. */
const MAX_UNPROVEN = 10
const FIRST_BACK_OFF_MS = 100
const MAX_BACK_OFF_MS = 30_000
/** There the next one is tried sooner. */
const MAX_UNPROVEN_BACK_OFF_MS = 1_000
/** For so long at the most the first job has the machine to itself before a second worker is started, ms. */
const FIRST_JOB_MS = 20
/** A start after a timeout gets twice the time, up to this many times. */
const MAX_TIMEOUT_FACTOR = 8

/** How starts have gone lately: what back-off and breaker go by. Deaths of workers that had accepted a job are none of its business. */
export class StartRecord {
  /** The task modules are known to load. */
  everUp = false
  /** Times that the deadlines of the next start are stretched. */
  timeoutFactor = 1
  /** No start before then, ms on the hub's clock. */
  notBefore = 0
  /** When the first worker came up while a job waited for it, no second one is started before then, unless that job has settled. */
  firstJobUntil = 0
  /** Starts in a row that failed before they were up. */
  #failedStarts = 0
  /** Deaths in a row of workers that had accepted no job, and whose modules loaded, or had no time to. */
  #unproven = 0

  /** Starts fail again and again. */
  get broken(): boolean {
    return this.#failedStarts >= MAX_FAILED_STARTS || this.#unproven >= MAX_UNPROVEN
  }

  /** Failures in a row of the kind that this worker's was. */
  failures(blameless: boolean): number {
    return blameless ? this.#unproven : this.#failedStarts
  }

  up(now: number): void {
    if (!this.everUp) this.firstJobUntil = now + FIRST_JOB_MS
    this.everUp = true
    this.timeoutFactor = 1
    this.#failedStarts = 0
  }

  /** A job has settled. True: it was the first, and the next start may have waited for it. */
  settled(): boolean {
    if (this.firstJobUntil === 0) return false
    this.firstJobUntil = 0
    return true
  }

  failed(now: number, blameless: boolean, timedOut: boolean): void {
    const failures = blameless ? ++this.#unproven : ++this.#failedStarts
    if (timedOut) this.timeoutFactor = Math.min(MAX_TIMEOUT_FACTOR, 2 * this.timeoutFactor)
    this.notBefore = now + Math.min(blameless ? MAX_UNPROVEN_BACK_OFF_MS : MAX_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** (failures - 1))
  }

  /** Whatever failed before is no sign any more: the next starts count from the first, and need not wait. */
  anew(): void {
    this.#failedStarts = 0
    this.#unproven = 0
    this.notBefore = 0
  }

  /** A job was accepted: the tasks are known to be taken up. True: nothing stands against the next start any more. */
  proven(): boolean {
    if (this.#unproven === 0) return false
    this.#unproven = 0
    if (this.#failedStarts > 0) return false
    this.notBefore = 0
    return true
  }
}
