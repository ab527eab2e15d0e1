import { MemoryLimitError } from '../../wire/errors.js'
import { deathReason, endedWith, lostError, poolClosedError, putBackTooOften } from '../errors.js'
import type { PoolState } from '../pool-state.js'
import type { PoolWorker } from '../worker/worker.js'
import type { JobRecord } from './job.js'
import type { JobLifecycle } from './job-lifecycle.js'

/**
 * The jobs that a worker held when it died. Called when everything that the worker had written is read. An accepted job is lost or runs again: then it
 * goes to `fleet/orphaned-jobs.ts`, which holds it until a worker can run it. A job that was not accepted is put back.
 */
export const settleOrRequeueJobs = (pool: PoolState, jobs: JobLifecycle, worker: PoolWorker): void => {
  const terminating = pool.phase === 'terminating'
  const again: JobRecord[] = []
  for (const job of worker.jobs.sent.drain()) {
    if (worker.resultsDamaged) {
      // The ACCEPTED of this job may have been lost with the pipe. So the job counts as begun, because it must not run twice.
      jobs.accepted(worker, job)
      worker.jobs.running.add(job)
      continue
    }
    // A cancelled job is put back without counting: `putBack` settles it.
    const goesBack = !job.isSettled && (job.cancellation !== undefined || (!terminating && ++job.putBacks <= pool.settings.maxPutBacks))
    if (goesBack) jobs.putBack(worker, job)
    else if (terminating && !job.isSettled) jobs.closeUnbegun(job)
    else {
      job.markBegan(job.attempt > 1)
      jobs.settle(job, { state: 'lost', error: putBackTooOften(worker, job, pool.settings) })
    }
  }
  for (const job of worker.jobs.running) {
    if (job.cancellation !== undefined) jobs.endCancelled(job, job.cancellation)
    else if (job.isSettled) continue
    else if (terminating) jobs.settle(job, { state: 'lost', error: poolClosedError(job, true) })
    else if (mayRunAgain(worker, job)) again.push(job)
    else if (worker.killReason?.error instanceof MemoryLimitError) jobs.fail(job, worker.killReason.error)
    else jobs.settle(job, { state: 'lost', error: lostError(worker, job, pool.settings), endedWith: endedWith(worker, pool.settings) })
  }
  worker.jobs.running.clear()
  for (const job of again) {
    // A listener may have cancelled the job since.
    if (job.cancellation !== undefined) jobs.endCancelled(job, job.cancellation)
    if (job.isSettled) continue
    pool.running--
    pool.queued++
    pool.totals.retried++
    job.state = 'queued'
    job.attempt++
    job.holder = 0
    job.delivery = 0
    job.acceptedAt = 0
    job.endAttempt()
    const reason = deathReason(worker)
    job.notify((follower) => follower.retried?.(job, worker.id, endedWith(worker, pool.settings)))
    if (pool.events.wants('jobRetried')) pool.events.emit('jobRetried', { id: job.id, name: job.name, attempt: job.attempt, worker: worker.id, reason })
    pool.log?.warn({ job: job.id, task: job.name, attempt: job.attempt }, 'job runs again after its worker died')
  }
  const retries = [...again, ...worker.reserved.takeRetries()].filter((job) => !job.isSettled).sort((a, b) => a.number - b.number)
  if (retries.length === 0) return
  pool.log?.warn(
    { jobs: retries.length, waiting: pool.queued - retries.length },
    'the jobs of a worker that died run again in one worker, one after another and alone: the others wait for room elsewhere',
  )
  pool.orphanedJobs.addRetries(retries)
}

const mayRunAgain = (worker: PoolWorker, job: JobRecord): boolean => {
  if (job.attempt > job.spec.retryLost || job.streamed) return false
  // A job that ran alone exceeded the limit itself. If several ran, it is unknown which of them did: each is retried in isolation.
  return !(worker.killReason?.error instanceof MemoryLimitError) || worker.jobs.running.size > 1
}
