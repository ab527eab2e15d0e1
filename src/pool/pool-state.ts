import { randomBytes } from 'node:crypto'
import type { Hub } from '../hub/index.js'
import type { TaskInfo } from '../wire/messages.js'
import type { EventHub } from './events.js'
import { Histogram } from './histogram.js'
import type { JobRecord } from './jobs/job.js'
import type { Settings } from './options.js'
import { Outbox } from './queue/outbox.js'
import { TaskMeters } from './queue/task-meters.js'
import type { PoolStats } from './types.js'
import type { PoolWorker } from './worker/worker.js'

/** 'open' → 'closing' (finish everything) → 'closed'; or 'terminating' (stop now) → 'closed'. */
export type Phase = 'open' | 'closing' | 'terminating' | 'closed'

/** What the parts of one pool share. */
export class PoolState {
  readonly id = randomBytes(4).toString('hex')
  phase: Phase = 'open'
  /** Jobs that wait for a worker. */
  readonly outbox = new Outbox<JobRecord>()
  /** Every worker that is not buried, by id. */
  readonly workers = new Map<number, PoolWorker>()
  /** The tasks as the newest worker announced them. */
  tasks = new Map<string, TaskInfo>()
  readonly meters = new TaskMeters()
  /** Workers whose slots may be taken up at once, be it by those who leave or by those who follow. */
  slotTarget = 0
  /** Unsettled jobs. */
  pending = 0
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
  readonly wait = new Histogram()
  readonly run = new Histogram()
  readonly roundTrip = new Histogram()
  /** Workers that are gone, and their writes. */
  readonly past = { workers: 0, writes: 0 }

  constructor(
    readonly hub: Hub,
    readonly settings: Settings,
    readonly events: EventHub,
  ) {}

  get log(): Settings['logger'] {
    return this.settings.logger
  }
}
