import type { WatchdogLink } from '../link.js'
import type { WorkerJob } from './job.js'
import type { JobScope } from './job-scope.js'

/** Brackets every synchronous call into a task's code: whose it is, for the watchdog and for `currentJob()`. */
export class TaskCall {
  readonly #link: WatchdogLink
  readonly #scope: JobScope
  /** The delivery inside whose call we are, 0 outside. */
  #inside = 0
  /** The last job has left stores behind: the next one must come out of another native callback. */
  tainted = false

  constructor(link: WatchdogLink, scope: JobScope) {
    this.#link = link
    this.#scope = scope
  }

  /** Nothing may change between the link's mark and the task's first instruction: the call can be terminated from there on. */
  enter(job: WorkerJob): void {
    this.#scope.enter(job)
    this.#inside = job.delivery
    this.#link.entering(job.delivery)
  }

  leave(): void {
    this.#link.left()
    this.#inside = 0
    if (!this.#scope.leave()) this.tainted = true
  }

  run(job: WorkerJob, fn: () => unknown): unknown {
    this.enter(job)
    try {
      return fn()
    } finally {
      this.leave()
    }
  }

  /** The call was terminated: nobody left it. */
  terminated(): void {
    this.#inside = 0
  }

  /** Runs the worker's own code that a task has called (a log line, progress) so that it cannot be terminated half way through a frame. */
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
