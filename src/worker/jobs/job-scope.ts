import type { WorkerJob } from './job.js'

/** Knows whose code is running. The job loop enters a job before each synchronous call of its task and leaves it after. */
export interface JobScope {
  enter(job: WorkerJob): void
  /** False: the next job must not be called out of the same native callback. */
  leave(): boolean
  /** Calls `fn` as part of the job, e.g. the listeners of its signal. */
  run(job: WorkerJob, fn: () => void): void
  current(): WorkerJob | undefined
}

/** For the simulation. */
export const noScope: JobScope = {
  enter: () => {},
  leave: () => true,
  run: (_job, fn) => fn(),
  current: () => undefined,
}
