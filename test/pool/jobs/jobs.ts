import { type JobOwner, JobRecord, type JobSpec } from '../../../src/pool/jobs/job.js'
import type { JobOutcome } from '../../../src/pool/jobs/job-end.js'

/** A job without a pool; cancelling it settles it, as the pool does, unless it is to be asked. */
export const makeJob = (number: number, spec: Partial<JobSpec> = {}, settled?: (job: JobRecord, reason: unknown) => void): JobRecord => {
  const owner: JobOwner = {
    poolId: 'test',
    cancel: (job, error) => {
      if (job.isSettled) return false
      if (!job.spec.asks) job.settle({ state: 'cancelled', error })
      settled?.(job, error)
      return true
    },
    withdraw: () => {},
  }
  return new JobRecord(owner, {
    number,
    name: 'task',
    id: undefined,
    priority: 0,
    softLimit: 0,
    hardLimit: 0,
    retryLost: 0,
    flags: 0,
    parts: [],
    size: 10,
    unobserved: false,
    asks: false,
    submittedAt: 0,
    ...spec,
  })
}

export const succeeded = (value: unknown): JobOutcome => ({ state: 'succeeded', value })
export const failed = (error: unknown): JobOutcome => ({ state: 'failed', error })
