import type { WatchdogLink } from '../link.js'
import type { WorkerJob } from './job.js'
import type { JobScope } from './loop-options.js'

/** Brackets every synchronous call into a task's code, so that the watchdog and `currentJob()` know whose code runs. */
export class InterruptibleCall {
  readonly #link: WatchdogLink
  readonly #scope: JobScope
  /** The delivery whose call is under way; 0: none. */
  #inside = 0
  /** The last job's AsyncLocalStorage stores are still set: the next job must be called from within another native callback. */
  needsFreshCallback = false

  constructor(link: WatchdogLink, scope: JobScope) {
    this.#link = link
    this.#scope = scope
  }

  /** To be followed by the call at once: from here on it can be terminated. */
  enter(job: WorkerJob): void {
    this.#scope.enter(job)
    this.#inside = job.delivery
    this.#link.entering(job.delivery)
  }

  leave(): void {
    this.#link.left()
    this.#inside = 0
    if (!this.#scope.leave()) this.needsFreshCallback = true
  }

  run(job: WorkerJob, fn: () => unknown): unknown {
    this.enter(job)
    try {
      return fn()
    } finally {
      this.leave()
    }
  }

  /** The call was terminated, and `leave` was not called. */
  terminated(): void {
    this.#inside = 0
  }

  /** Runs the worker's own code that a task has called (a log line, progress) so that it cannot be terminated in the middle of a frame. */
  protect<T>(fn: () => T): T {
    const inside = this.#inside
    if (inside === 0) return fn()
    this.#inside = 0
    this.#link.left()
    try {
      return fn()
    } finally {
      this.#inside = inside
      this.#link.entering(inside)
    }
  }
}
