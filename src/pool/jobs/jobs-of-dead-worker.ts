import { MemoryLimitError } from '../../wire/errors.js'
import { deathReason, lostError, poolClosedError, putBackTooOften } from '../errors.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'
import type { JobRecord } from './job.js'
import type { JobLifecycle } from './job-lifecycle.js'

/** The worker is dead and its output is read: what it had accepted is lost or runs again, what it had not is put back. */
export const settleOrRequeueJobs = (pool: PoolState, jobs: JobLifecycle, worker: PoolWorker): void => {
  const terminating = pool.phase === 'terminating'
  const again: JobRecord[] = []
  for (const job of worker.jobs.sent.drain()) {
    if (worker.resultsDamaged) {
      // Its ACCEPTED may have been lost with the pipe: it counts as begun, for it must not run twice.
      jobs.accepted(worker, job)
      worker.jobs.running.add(job)
    } else if (!job.isSettled && !terminating && ++job.putBacks <= pool.settings.maxPutBacks) jobs.putBack(worker, job)
    else if (terminating && !job.isSettled) jobs.closeUnbegun(job)
    else {
      job.markBegan(job.attempt > 1)
      jobs.settle(job, { state: 'lost', error: putBackTooOften(worker, job) })
    }
  }
  for (const job of worker.jobs.running) {
    if (job.isSettled) continue
    if (terminating) jobs.settle(job, { state: 'lost', error: poolClosedError(job, true) })
    else if (mayRunAgain(worker, job)) again.push(job)
    else if (worker.killReason?.error instanceof MemoryLimitError) jobs.fail(job, worker.killReason.error)
    else jobs.settle(job, { state: 'lost', error: lostError(worker, job) })
  }
  worker.jobs.running.clear()
  for (const job of again) {
    pool.running--
    pool.queued++
    pool.totals.retried++
    job.state = 'queued'
    job.attempt++
    job.worker = 0
    job.delivery = 0
    job.acceptedAt = 0
    job.cancelDeadlines?.()
    job.cancelDeadlines = undefined
    if (pool.events.wants('jobRetried'))
      pool.events.emit('jobRetried', { id: job.id, name: job.name, attempt: job.attempt, worker: worker.id, reason: deathReason(worker) })
    pool.log?.warn({ job: job.id, task: job.name, attempt: job.attempt }, 'job runs again after its worker died')
  }
  const retries = [...again, ...worker.reserved.takeRetries()].filter((job) => !job.isSettled).sort((a, b) => a.number - b.number)
  if (retries.length > 0) pool.orphanedJobs.addRetries(retries)
}

const mayRunAgain = (worker: PoolWorker, job: JobRecord): boolean => {
  if (job.attempt > job.spec.retryLost || job.streamed) return false
  // If it ran alone, the job itself exceeded the limit. If several ran, the culprit is unknown: each is retried in isolation.
  return !(worker.killReason?.error instanceof MemoryLimitError) || worker.jobs.running.size > 1
}
