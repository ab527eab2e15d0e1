import type { Claimer } from './claim.js'

/**
 * What the job loop needs of the watchdog, which is a thread (`watchdog/`); with `watchdog: false` the main thread owns the
 * lifeline itself, and the simulation has a model. All deliveries are those of JOB frames.
 */
export interface WatchdogLink {
  readonly claimer: Claimer
  /** Limits, in ms, count from here: called right after the ACCEPTED frame of a job is in the kernel. 0: no such limit. */
  began(slot: number, delivery: number, softLimit: number, hardLimit: number): void
  /** The job has settled; its limits are off. Called before its READY is written. */
  ended(slot: number): void
  /** Brackets the synchronous part of a task's call, so that the watchdog knows which job's code it would interrupt. 0: none. */
  entering(delivery: number): void
  left(): void
  /** Bracket a write of results that may block until the host reads: that time counts against no limit. */
  beforeWrite(): void
  afterWrite(): void
  /** The process is about to exit: after this, the watchdog neither delays it nor prints a line. */
  detach?(): Promise<void>
  /** The process exits at the end of this turn, without `detach`. */
  exiting?(): void
  /** A write of results has failed: reports the reason to the host, which kills this process. Returns only if that takes too long. */
  resultsLost?(error: NodeJS.ErrnoException): void
  /** Asks for one call of `LinkEvents.onWake`, soon, from within a native callback (no promise, timer, tick or AsyncResource around it). */
  wake(): void
}

/** What the watchdog asks of the job loop. Called on the main thread when its event loop turns, from within a native callback. */
export interface LinkEvents {
  /**
   * Abort the job's signal with this reason (close its generator, for a stream). The job may already be gone. `asked`: the host waits for the end of
   * the task, and answers its calls until then.
   */
  onCancel(delivery: number, reason: unknown, asked: boolean): void
  /** Abort the job's signal with a SoftTimeLimitError. */
  onSoftLimit(delivery: number, limit: number): void
  /** The synchronous call of this job was terminated: settle it (READY with FLAG_INTERRUPTED, payload `stack`) and go on. */
  onInterrupted(delivery: number, cause: 'soft' | 'cancel', stack: string): void
  onWake(): void
}
