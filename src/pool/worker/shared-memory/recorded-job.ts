import type { FrameWriter } from '../../../wire/frame-writer.js'
import { FLAG_RECORD } from '../../../wire/messages.js'
import type { JobRecord } from '../../jobs/job.js'
import type { InFlightJobs } from '../in-flight-jobs.js'
import type { AcceptanceRecord } from '../launch/launcher.js'

/**
 * The job of a worker whose acceptance is recorded instead of announced. No message wakes the host for it: the host looks into the record when it
 * has to know, and at the latest when the worker answers, gives jobs back or dies. There is at most one such job. It is the first of the
 * jobs written and not known to be accepted: each job written behind it is announced by an ACCEPTED.
 */
export class RecordedJob {
  readonly #record: AcceptanceRecord | undefined
  readonly #jobs: InFlightJobs
  readonly #writer: FrameWriter
  readonly #accept: (delivery: number, at: number, now?: number) => void
  /** The delivery of the job; 0: there is no such job, or its acceptance is known. */
  #delivery = 0
  /** The delivery whose acceptance the watchdog has reported. */
  #provenElsewhere = 0

  /** `accept`: called once for each such job that was accepted. `at`, and `now` where it is known: ms on the hub's clock. */
  constructor(record: AcceptanceRecord | undefined, jobs: InFlightJobs, writer: FrameWriter, accept: (delivery: number, at: number, now?: number) => void) {
    this.#record = record
    this.#jobs = jobs
    this.#writer = writer
    this.#accept = accept
  }

  /** The one job in flight is about to be written: the worker can be asked to record its acceptance. */
  get possible(): boolean {
    const { sent, inFlight, deliveries } = this.#jobs
    return this.#record !== undefined && this.#writer.jobGathered && inFlight === 1 && sent.peek()?.delivery === deliveries
  }

  /** Asks the worker to record the acceptance. */
  begin(): void {
    this.#delivery = this.#jobs.deliveries
    this.#writer.flagJob(FLAG_RECORD)
  }

  get pending(): boolean {
    return this.#delivery !== 0
  }

  /** Reads the record, and accepts the job if it is recorded there. That may run listeners of the application. */
  acceptIfRecorded(): void {
    if (this.#delivery === 0) return
    const recorded = this.#record!.read()
    if (recorded?.delivery === this.#delivery) this.#accepted(recorded.at)
  }

  /** A message shows that this delivery was accepted, and so were all before it. */
  proven(delivery: number, now: number): void {
    if (this.#delivery === 0 || delivery < this.#delivery) return
    this.acceptIfRecorded()
    if (this.#delivery !== 0) this.#accepted(now, now)
  }

  /** Its READY has come. Returns when it ended, ms on the hub's clock. */
  answered(delivery: number, acceptedAt: number, endedAt: number, now: number): number {
    const offset = this.#record?.offset ?? 0
    if (delivery === this.#delivery) this.#accepted(acceptedAt - offset, now)
    // A worker's clock is not trusted.
    return endedAt >= acceptedAt && endedAt - offset <= now ? endedAt - offset : now
  }

  /** The job that a message is about. The message proves that it was accepted. */
  running(delivery: number, now: number): JobRecord | undefined {
    this.proven(delivery, now)
    return this.#jobs.running.get(delivery)
  }

  /** The delivery that runs, if it is the only one; otherwise 0. */
  soleRunning(): number {
    this.acceptIfRecorded()
    const { running } = this.#jobs
    return running.size === 1 ? running.oldest!.delivery : 0
  }

  /** An ACCEPTED of this delivery has come: the worker could not record it. False: the acceptance is known already. */
  announced(delivery: number, now: number): boolean {
    if (delivery === this.#provenElsewhere) return false
    if (delivery === this.#delivery) this.#delivery = 0
    else this.proven(delivery, now)
    return true
  }

  /** A recall up to `upTo` was answered: a job that was not claimed has not begun. */
  recalled(claimed: number, upTo: number, now: number): void {
    const delivery = this.#delivery
    this.acceptIfRecorded()
    if (this.#delivery !== 0 && claimed >= delivery) {
      // The watchdog may be first. The ACCEPTED of the job may still be in the results pipe.
      this.#provenElsewhere = delivery
      this.#accepted(now, now)
    }
    if (this.#delivery <= upTo) this.#delivery = 0
  }

  /** The worker is dead, and its record was read. */
  close(): void {
    this.#delivery = 0
    this.#record?.close()
  }

  #accepted(at: number, now?: number): void {
    const delivery = this.#delivery
    this.#delivery = 0
    this.#accept(delivery, at, now)
  }
}
