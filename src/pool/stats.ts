import type { PoolState } from './pool-state.js'
import type { PoolStats, WorkerStats, WritesStats } from './types.js'
import type { PoolWorker } from './worker/worker.js'

const workerStats = (worker: PoolWorker, now: number): WorkerStats => {
  const oldest = worker.jobs.running.oldest
  return {
    id: worker.id,
    pid: worker.pid,
    state: worker.state(worker.jobs.inFlight),
    spare: worker.spare,
    rss: worker.heartbeats.rss,
    cpu: worker.heartbeats.cpu,
    uptime: now - worker.startedAt,
    jobs: worker.jobs.done,
    job: oldest && { id: oldest.id, name: oldest.name, age: oldest.acceptedAt === 0 ? 0 : now - oldest.acceptedAt, attempt: oldest.attempt },
    running: worker.jobs.running.size,
    writtenAhead: worker.jobs.sent.size,
    bytesWritten: worker.writer.bytes,
    stalled: worker.heartbeats.mainAge,
  }
}

/** Writes per worker, as Celery's pool reports them (`celery inspect stats`, pool → writes). The shares cover the living workers. */
const writesStats = ({ formerWorkers, workers }: PoolState): WritesStats => {
  const living = [...workers.values()]
  const total = living.reduce((sum, worker) => sum + worker.writer.writes, formerWorkers.writes)
  return {
    total,
    average: living.length + formerWorkers.count === 0 ? 0 : total / (living.length + formerWorkers.count),
    shares: Object.fromEntries(living.map((worker) => [worker.id, total === 0 ? 0 : worker.writer.writes / total])),
  }
}

/** The result of `pool.stats()`. */
export const poolStats = (pool: PoolState): PoolStats => {
  pool.findAccepted()
  const now = pool.hub.now()
  return {
    workers: [...pool.workers.values()].map((worker) => workerStats(worker, now)),
    queued: pool.queued,
    running: pool.running,
    totals: { ...pool.totals },
    latency: { wait: pool.waitTimes.stats(), run: pool.runTimes.stats(), roundTrip: pool.roundTrips.stats() },
    writes: writesStats(pool),
  }
}

/** What a node scales its pool by. */
export interface PoolLoad {
  /** Jobs that run. */
  readonly running: number
  /** The most jobs that ran at once since the last look. */
  readonly peakRunning: number
  /** Workers that start. */
  readonly starting: number
  /** Mean time of a start, ms; undefined: no worker was up yet. */
  readonly startTime: number | undefined
  /** The last start has failed, and the next is under way or waits. */
  readonly startsFail: boolean
}

/** `starting`: workers that start. `missing`: others are wanted. The next call has the peak since this one. */
export const poolLoad = (pool: PoolState, starting: number, missing: boolean): PoolLoad => {
  pool.findAccepted()
  const { hub, running, peakRunning, starts } = pool
  pool.peakRunning = running
  const startsFail = starts.failing && (missing || starting > 0 || hub.now() < starts.notBefore)
  return { running, peakRunning: Math.max(running, peakRunning), starting, startTime: starts.time, startsFail }
}
