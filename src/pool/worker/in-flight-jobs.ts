import { Deque } from '../../util/deque.js'
import { placedUpTo } from '../../wire/arena/place.js'
import { ProtocolError } from '../../wire/errors.js'
import type { JobRecord } from '../jobs/job.js'

/**
 * The jobs that a worker has accepted and not answered, in order of acceptance. There is mostly one at a time, and a new one for each
 * job that the worker runs: a Map with so many insertions and deletions would rebuild its table again and again.
 */
export class RunningJobs {
  #deliveries: number[] = []
  #jobs: JobRecord[] = []

  get size(): number {
    return this.#jobs.length
  }

  add(job: JobRecord): void {
    this.#deliveries.push(job.delivery)
    this.#jobs.push(job)
  }

  get(delivery: number): JobRecord | undefined {
    return this.#jobs[this.#deliveries.indexOf(delivery)]
  }

  /** Removes and returns the job. */
  take(delivery: number): JobRecord | undefined {
    const at = this.#deliveries.indexOf(delivery)
    if (at === -1) return undefined
    // Mostly the job is the last one. `splice` makes an array, which would cost more than the rest.
    if (at === this.#jobs.length - 1) {
      this.#deliveries.pop()
      return this.#jobs.pop()
    }
    this.#deliveries.splice(at, 1)
    return this.#jobs.splice(at, 1)[0]
  }

  /** The job that has been running longest. */
  get oldest(): JobRecord | undefined {
    return this.#jobs[0]
  }

  [Symbol.iterator](): IterableIterator<JobRecord> {
    return this.#jobs[Symbol.iterator]()
  }

  /** Whether `test` holds for any job. */
  some(test: (job: JobRecord) => boolean): boolean {
    return this.#jobs.some(test)
  }

  clear(): void {
    this.#deliveries = []
    this.#jobs = []
  }
}

/** Bytes written ahead in one worker's pipe at the most: they fit the kernel's buffer, so that a job the worker holds is always written completely. */
export const MAX_AHEAD_BYTES = 200 * 1024
/** The same for jobs that go by place. More would leave the cache before the worker reads it. */
const MAX_PLACED_AHEAD = 512 * 1024

/** The jobs of one worker: written and not accepted, or accepted and not answered. After its death they show exactly which jobs can have begun. */
export class InFlightJobs {
  /** Jobs written and not accepted, in order of delivery. */
  readonly sent = new Deque<JobRecord>()
  /** Jobs accepted and not answered. */
  readonly running = new RunningJobs()
  /** JOB frames written so far: the number of the last delivery. */
  deliveries = 0
  /** Jobs accepted so far. */
  accepted = 0
  /** Jobs answered so far. */
  done = 0
  /** Bytes of the jobs written and not accepted, as `pipeBytes` counts them. */
  sentBytes = 0
  /** The jobs that go by place, by their size in bytes, and what a byte of theirs counts. */
  #placedFrom = Number.POSITIVE_INFINITY
  #placedUpTo = 0
  #placedWeight = 1
  /** The last of them found room. */
  #findsRoom = true
  /** Number of jobs at the end of `sent` that are not known to be in the kernel. */
  unflushed = 0

  /** Jobs of these sizes go by place: MAX_AHEAD_BYTES of the pipe are as much as MAX_PLACED_AHEAD of that memory. To be called before the first job. */
  setPlaces(from: number, capacity: number): void {
    this.#placedFrom = from
    this.#placedUpTo = placedUpTo(capacity)
    this.#placedWeight = MAX_AHEAD_BYTES / Math.min(MAX_PLACED_AHEAD, this.#placedUpTo)
  }

  /** What the job takes of MAX_AHEAD_BYTES. */
  pipeBytes({ spec: { size } }: JobRecord): number {
    return this.#findsRoom && size >= this.#placedFrom && size <= this.#placedUpTo ? Math.ceil(size * this.#placedWeight) : size
  }

  /** How the job that was just written went. If it found no room and went through the pipe, all jobs count with their full size from now on, those in `sent` too, until one goes by place again. */
  wentByPlace({ spec: { size } }: JobRecord, placed: boolean): void {
    if (size < this.#placedFrom || size > this.#placedUpTo || placed === this.#findsRoom) return
    this.#findsRoom = placed
    this.sentBytes = 0
    for (let i = 0; i < this.sent.size; i++) this.sentBytes += this.pipeBytes(this.sent.at(i)!)
  }

  get inFlight(): number {
    return this.sent.size + this.running.size
  }

  /** Slots that these jobs take up: no more than `concurrency` run at once, however many were written ahead. */
  slotsUsed(concurrency: number): number {
    return Math.min(this.inFlight, concurrency)
  }

  /** How many more jobs may be written to a worker that may accept `most` in its life. */
  quota(most: number): number {
    return most - this.accepted - this.sent.size
  }

  write(job: JobRecord, worker: number): void {
    job.holder = worker
    job.delivery = ++this.deliveries
    job.state = 'writing'
    this.sent.push(job)
    this.sentBytes += this.pipeBytes(job)
    this.unflushed++
  }

  /** All bytes written are in the kernel. */
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
    // The job then stays in `sent`: the worker is ended, and the jobs that it held are put back.
    if (job === undefined || job.delivery !== delivery) {
      throw new ProtocolError(`ACCEPTED of delivery ${delivery}; ${job === undefined ? 'none was written' : `${job.delivery} comes first`}.`)
    }
    this.sent.shift()
    this.sentBytes -= this.pipeBytes(job)
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

  /** Removes and returns the jobs that a recall up to `upTo` brought back: all jobs written and not claimed. */
  recalled(claimed: number, upTo: number): JobRecord[] {
    const all = this.sent.drain()
    const back: JobRecord[] = []
    for (const job of all) {
      if (job.delivery > claimed && job.delivery <= upTo) {
        back.push(job)
        this.sentBytes -= this.pipeBytes(job)
      } else this.sent.push(job)
    }
    return back
  }
}
