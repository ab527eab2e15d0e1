import type { Deadline } from '../../hub/index.js'
import type { LostReason } from '../../wire/errors.js'
import type { StartFailed } from '../../wire/messages.js'
import type { JobRecord } from '../jobs/job.js'
import type { WorkerState } from '../types.js'
import { InFlightJobs } from './in-flight-jobs.js'
import type { ProcessExit } from './launcher.js'
import type { PoolWorker } from './worker.js'

/** What the parts of the pool note down about a worker, and read there. */
export abstract class WorkerRecord {
  readonly jobs = new InFlightJobs()
  state: WorkerState = 'starting'
  /** A warm stand-by that takes no jobs of the outbox. */
  spare = false
  /** The worker that it replaces. */
  predecessor: PoolWorker | undefined
  /** Jobs that a death left to be run again, one after another, before anything else. */
  isolatedRetries: JobRecord[] = []
  /** The one of them that is running: until it has settled (a stream: brought its first item) it is alone. */
  isolatedRetry: JobRecord | undefined
  /** Its main thread was found not to take up what was written to it: no new job until then, ms on the hub's clock. */
  stuckUntil = 0
  stuckFor = 0
  /** Since when something has been written to it that it has not accepted. */
  heldSince = 0
  /** Shares of broadcasts: for this worker alone. */
  pinned: JobRecord[] = []
  /** RECALLs under way: no JOB is written until each is answered. */
  recalls = 0
  rss = 0
  upAt = 0
  /** When it last accepted or answered a job. */
  lastProgressAt = 0
  lastHeardAt = 0
  /** ms since the main thread's last turn, as the last heartbeat said. */
  mainAge = 0
  /** Heartbeats in a row that said that the main thread has not turned for `heartbeatTimeout`. */
  stalledBeats = 0
  /** Why the pool ends it. */
  killReason: { reason: LostReason; error?: Error } | undefined
  /** The pool ended it for a reason of its own: no failure. */
  expected = false
  /** Its end was asked for by `pool.end`: that says nothing about its task modules. */
  endedByCaller = false
  /** On its way out, its place goes to another. */
  recycled = false
  /** Its main thread does not turn: it is about to be killed. */
  unresponsive = false
  /** It stood still with no job running: it gets nothing more, whether or not it moves again. */
  quarantined = false
  /** Its results could not be read to their end: what it had not handed back may have begun. */
  resultsDamaged = false
  /** One of its pipes is gone. */
  damaged = false
  /** Its claim word is closed for good: no job begins there any more. */
  claimsClosed = false
  /** It has been up. */
  upOnce = false
  exit: ProcessExit | undefined
  startFailure: StartFailed | undefined
  startTimedOut = false
  /** Index in its own table by task name. */
  tasks = new Map<string, number>()
  /** Its drain may last until then. */
  drainDeadline: Deadline | undefined
}
