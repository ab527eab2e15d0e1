import { randomBytes } from 'node:crypto'
import type { Hub } from '../hub/index.js'
import type { TaskInfo } from '../wire/messages.js'
import type { EventHub } from './events.js'
import { OomKills } from './fleet/oom-kills.js'
import { OrphanedJobs } from './fleet/orphaned-jobs.js'
import { StartRecord } from './fleet/start-record.js'
import { Histogram } from './histogram.js'
import type { JobRecord } from './jobs/job.js'
import type { Settings } from './options.js'
import { JobQueue } from './queue/job-queue.js'
import { TaskMeters } from './queue/task-meters.js'
import type { PoolStats } from './types.js'
import type { PoolWorker } from './worker/worker.js'

/** 'open' → 'closing' (finish everything) → 'closed'; or 'terminating' (stop now) → 'closed'. */
export type Phase = 'open' | 'closing' | 'terminating' | 'closed'

/** The state that the parts of one pool share. */
export class PoolState {
  readonly id = randomBytes(4).toString('hex')
  phase: Phase = 'open'
  /** Jobs that wait for any worker. */
  readonly jobQueue = new JobQueue<JobRecord>()
  /** Jobs for which the fleet must still choose a worker. */
  readonly orphanedJobs = new OrphanedJobs()
  /** By id: every worker whose process lives, or whose pipes are still read. */
  readonly workers = new Map<number, PoolWorker>()
  /** How the starts of workers have gone. */
  readonly starts = new StartRecord()
  /** The tasks as the newest worker announced them. */
  tasks = new Map<string, TaskInfo>()
  readonly taskMeters = new TaskMeters()
  /** Number of workers whose slots may be used at once. A surplus worker counts until it is gone. */
  slotTarget = 0
  /** Jobs that have not settled: `queued` + `running`. */
  unsettled = 0
  /** Unsettled jobs that no worker has accepted. */
  queued = 0
  /** Unsettled jobs that a worker has accepted. */
  running = 0
  /** The most that `running` was since `pool.load()` read it last. */
  peakRunning = 0
  readonly totals: PoolStats['totals'] = {
    submitted: 0,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
    lost: 0,
    retried: 0,
    putBack: 0,
    workersStarted: 0,
    workersDied: 0,
    workersRecycled: 0,
  }
  /** Submission to acceptance, ms. */
  readonly waitTimes = new Histogram()
  /** Acceptance to settlement, ms. */
  readonly runTimes = new Histogram()
  /** Submission to settlement, ms. */
  readonly roundTrips = new Histogram()
  readonly oomKills = new OomKills()
  /** Number of workers that are no longer in `workers`, and of the writes made to them. */
  readonly formerWorkers = { count: 0, writes: 0 }
  /** Something has changed since the fleet was last balanced. Otherwise no balance is made: it costs more than a short job. */
  balanceDue = true

  constructor(
    readonly hub: Hub,
    readonly settings: Settings,
    readonly events: EventHub,
  ) {}

  get log(): Settings['logger'] {
    return this.settings.logger
  }

  /** Counts a job that the pool takes. */
  submitted(): void {
    this.totals.submitted++
    this.queued++
    this.addUnsettled()
  }

  /** A job has come. One that comes alone has no other job to share a write with. */
  wakeForJob(): void {
    if (this.unsettled === 1) this.hub.wakeSoon()
    else this.hub.wake()
  }

  /** Unsettled jobs keep the host alive. An idle pool does not. */
  addUnsettled(): void {
    if (this.unsettled++ === 0) this.hub.hold()
  }

  removeUnsettled(): void {
    if (--this.unsettled === 0) this.hub.release()
  }

  /** No job may be submitted: `maxQueue` jobs wait for acceptance. */
  isFull(): boolean {
    const { maxQueue } = this.settings
    if (this.queued < maxQueue) return false
    this.findAccepted()
    return this.queued >= maxQueue
  }

  /** Reads all acceptance records, and accepts the jobs that they name. */
  findAccepted(): void {
    for (const worker of this.workers.values()) worker.recorded.acceptIfRecorded()
  }

  /** Requests a balance of the fleet in the next tick. */
  requestBalance(): void {
    this.balanceDue = true
    this.hub.wake()
  }

  /** Removes and returns all jobs that do not wait for one particular worker. */
  takeWaiting(): JobRecord[] {
    const jobs = [...this.jobQueue.drain(), ...this.orphanedJobs.takeAll()]
    for (const job of jobs) job.inJobQueue = false
    return jobs
  }
}
