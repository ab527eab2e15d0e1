/** What a job loop needs from outside; the simulation provides its own. */
import type { WorkerConfig } from '../../wire/messages.js'
import type { WriteChunks } from '../io/frame-output.js'
import type { ResultPlaces } from '../io/places.js'
import type { WatchdogLink } from '../link.js'
import type { JobEndHook, JobStartHook } from '../tasks/hooks.js'
import type { WorkerJob } from './job.js'

export interface LoopClock {
  /** ms, monotonic. */
  now(): number
  /** ms since the epoch. */
  wall(): number
  /** Calls `fn` after `ms`; need not keep the process alive. */
  later(ms: number, fn: () => void): void
}

/** Knows which job's code is running. The job loop enters a job before each synchronous call of its task and leaves it afterwards. */
export interface JobScope {
  enter(job: WorkerJob): void
  /** False: the next job must not be called from within the same native callback. */
  leave(): boolean
  /** Calls `fn` as part of the job, for example to abort its signal. */
  run(job: WorkerJob, fn: () => void): void
  current(): WorkerJob | undefined
}

export interface AcceptanceRecorder {
  /** ms on the monotonic clock of the machine. */
  now(): number
  /** False: it cannot be recorded, and an ACCEPTED is needed. `at`: as `now`. */
  record(delivery: number, at: number): boolean
}

export interface JobLoopOptions {
  readonly config: Pick<WorkerConfig, 'poolId' | 'concurrency' | 'maxMessageSize' | 'measureMemory'>
  /** Writes into the results pipe before it returns. */
  readonly write: WriteChunks
  /** Where the acceptance of a job can be recorded for the host. */
  readonly record?: AcceptanceRecorder | undefined
  /** Memory shared with the host. */
  readonly places?: ResultPlaces | undefined
  readonly link: WatchdogLink
  readonly clock: LoopClock
  /** Resident bytes of this process. */
  readonly rss: () => number
  readonly scope: JobScope
  readonly jobStart?: readonly JobStartHook[]
  readonly jobEnd?: readonly JobEndHook[]
  /** Called once: QUIT has come and every job in this worker has settled. */
  readonly onFinished: () => void
  /** The loop failed, or a frame of the host cannot be read: this process must end. */
  readonly onBroken: (error: unknown) => void
  /** An error that is part of no job's result. */
  readonly onFault: (error: unknown, job: WorkerJob) => void
}
