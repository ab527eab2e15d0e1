import { Deque } from '../../util/deque.js'
import { ProtocolError } from '../../wire/errors.js'
import type { JobRecord } from '../jobs/job.js'
import { RunningJobs } from './running-jobs.js'

/**
 * Which jobs one worker holds: those written and not accepted, in order of delivery, and those accepted and not settled.
 * After a death they say exactly what can have begun and what has not.
 */
export class InFlightJobs {
  /** Written, not accepted; in order of delivery. */
  readonly sent = new Deque<JobRecord>()
  /** Accepted, not answered. */
  readonly running = new RunningJobs()
  /** JOB frames written so far: the number of the last delivery. */
  deliveries = 0
  /** Jobs accepted so far. */
  accepted = 0
  /** Jobs answered so far. */
  done = 0
  sentBytes = 0
  /** How many of `sent`, from its end, are not known to be in the kernel. */
  unflushed = 0

  get inFlight(): number {
    return this.sent.size + this.running.size
  }

  write(job: JobRecord, worker: number): void {
    job.worker = worker
    job.delivery = ++this.deliveries
    job.state = 'writing'
    this.sent.push(job)
    this.sentBytes += job.spec.size
    this.unflushed++
  }

  /** All that was written is in the kernel. */
  flushed(): void {
    const { sent } = this
    for (let i = Math.max(0, sent.size - this.unflushed); i < sent.size; i++) {
      const job = sent.at(i)!
      if (job.state === 'writing') job.state = 'written'
    }
    this.unflushed = 0
  }

  accept(delivery: number): JobRecord {
    const job = this.sent.peek()
    // It stays in the books then: the worker is ended, and what it held goes back.
    if (job === undefined || job.delivery !== delivery) {
      throw new ProtocolError(`ACCEPTED of delivery ${delivery}; ${job === undefined ? 'none was written' : `${job.delivery} comes first`}.`)
    }
    this.sent.shift()
    this.sentBytes -= job.spec.size
    this.accepted++
    this.running.add(job)
    return job
  }

  answer(delivery: number): JobRecord {
    const job = this.running.take(delivery)
    if (job === undefined) throw new ProtocolError(`An answer for delivery ${delivery}, which is not running.`)
    this.done++
    return job
  }

  /** Takes out what a recall up to `upTo` brought back: everything written that was not claimed. */
  recalled(claimed: number, upTo: number): JobRecord[] {
    const all = this.sent.drain()
    const back: JobRecord[] = []
    for (const job of all) {
      if (job.delivery > claimed && job.delivery <= upTo) {
        back.push(job)
        this.sentBytes -= job.spec.size
      } else this.sent.push(job)
    }
    return back
  }
}
