import { randomBytes } from 'node:crypto'
import type { Hub } from '../hub/index.js'
import type { TaskInfo } from '../wire/messages.js'
import type { EventHub } from './events.js'
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

/** What the parts of one pool share. */
export class PoolState {
  readonly id = randomBytes(4).toString('hex')
  phase: Phase = 'open'
  /** Jobs that wait for any worker. */
  readonly jobQueue = new JobQueue<JobRecord>()
  /** Jobs that wait for a worker that is still to be chosen by the fleet. */
  readonly orphanedJobs = new OrphanedJobs()
  /** By id: every worker whose process lives, or whose pipes are still read. */
  readonly workers = new Map<number, PoolWorker>()
  /** How the starts of workers have gone. */
  readonly starts = new StartRecord()
  /** The tasks as the newest worker announced them. */
  tasks = new Map<string, TaskInfo>()
  readonly taskMeters = new TaskMeters()
  /** How many workers may have their slots taken up at once, those on their way out included. */
  slotTarget = 0
  /** Jobs that have not settled: `queued` + `running`. */
  unsettled = 0
  /** Unsettled jobs that no worker has accepted. */
  queued = 0
  /** Unsettled jobs that a worker has accepted. */
  running = 0
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
  /** Workers that are no longer in `workers`, and the writes made to them. */
  readonly formerWorkers = { count: 0, writes: 0 }
  /** Something has changed since the fleet was last balanced: a balance costs more than a short job. */
  balanceDue = true

  constructor(
    readonly hub: Hub,
    readonly settings: Settings,
    readonly events: EventHub,
  ) {}

  get log(): Settings['logger'] {
    return this.settings.logger
  }

  /** Has the fleet balanced in the next tick. */
  requestBalance(): void {
    this.balanceDue = true
    this.hub.wake()
  }

  /** Takes out all jobs that wait for no worker in particular. */
  takeWaiting(): JobRecord[] {
    const jobs = [...this.jobQueue.drain(), ...this.orphanedJobs.takeAll()]
    for (const job of jobs) job.inJobQueue = false
    return jobs
  }
}
