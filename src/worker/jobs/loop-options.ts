import type { WorkerConfig } from '../../wire/messages.js'
import type { WriteChunks } from '../io/frame-output.js'
import type { WatchdogLink } from '../link.js'
import type { JobEndHook, JobStartHook } from '../worker-state.js'
import type { WorkerJob } from './job.js'
import type { JobScope } from './job-scope.js'

export interface LoopClock {
  /** ms, monotonic. */
  now(): number
  /** ms since the epoch. */
  wall(): number
  /** Need not keep the process alive. */
  later(ms: number, fn: () => void): void
}

/** All that a job loop knows of the world outside: the simulation gives it another one. */
export interface JobLoopOptions {
  readonly config: Pick<WorkerConfig, 'poolId' | 'concurrency' | 'maxMessageSize' | 'measureMemory'>
  /** Puts bytes into the results pipe before it returns. */
  readonly write: WriteChunks
  readonly link: WatchdogLink
  readonly clock: LoopClock
  /** Resident bytes. */
  readonly rss: () => number
  readonly scope?: JobScope
  readonly jobStart?: readonly JobStartHook[]
  readonly jobEnd?: readonly JobEndHook[]
  /** QUIT has come and everything taken up is finished. Called once. */
  readonly onFinished: () => void
  /** The loop itself is broken, or the host's frames are: nothing more can be trusted. */
  readonly onBroken: (error: unknown) => void
  /** An error that belongs to no result. */
  readonly onFault: (error: unknown, job: WorkerJob) => void
}
