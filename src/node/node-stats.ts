import { hostname } from 'node:os'
import type { Pool } from '../pool/pool.js'
import type { WorkerStats } from '../pool/types.js'
import type { NodeStats, NodeWorker } from '../runtime/report/report.js'
import type { Runtime } from '../runtime/runtime.js'
import type { Broker } from './broker.js'
import type { NodeSettings } from './options.js'
import type { Prefetch } from './prefetch.js'
import type { Scale } from './scale.js'
import { packageVersion } from './version.js'

const AT_WORK = ['up', 'busy']

/** Workers that take jobs. */
export const upWorkers = (workers: readonly WorkerStats[]): number => workers.filter(({ state }) => AT_WORK.includes(state)).length

/** Workers that hold no job. */
export const idleWorkers = (workers: readonly WorkerStats[]): number =>
  workers.filter(({ state, running, writtenAhead }) => state === 'up' && running === 0 && writtenAhead === 0).length

export interface NodeParts {
  readonly settings: NodeSettings
  readonly broker: Broker
  readonly pool: Pool
  readonly runtime: Runtime
  readonly intake: Prefetch
  readonly scale: Scale
}

/** What the node itself knows. */
export interface NodeMoment {
  readonly state: NodeStats['state']
  readonly depth: number | undefined
  /** ms on the monotonic clock. */
  readonly startedAt: number
}

/** The node as it is now. */
export const nodeStats = ({ settings, broker, pool, runtime, intake, scale }: NodeParts, { state, depth, startedAt }: NodeMoment): NodeStats => {
  const { workers, running } = pool.stats()
  const { totals, held, rateLimits } = runtime.stats
  return {
    node: settings.name,
    pid: process.pid,
    host: hostname(),
    version: packageVersion(),
    uptime: Math.round(performance.now() - startedAt),
    state,
    connected: broker.connected,
    queues: [...broker.queues],
    depth,
    prefetch: intake.capacity,
    held,
    running,
    scale: { ...scale.report, alive: upWorkers(workers) },
    totals,
    rss: process.memoryUsage.rss(),
    rateLimits,
    workers: workers.map((worker) => nodeWorker(worker, runtime)),
  }
}

const nodeWorker = ({ id, pid, state, rss, uptime, jobs, running, job, stalled }: WorkerStats, runtime: Runtime): NodeWorker => ({
  id,
  pid,
  state,
  rss,
  uptime: Math.round(uptime),
  done: jobs,
  failed: runtime.failuresOf(id),
  running,
  job: job === undefined ? undefined : { ...job, age: Math.round(job.age) },
  stalled: Math.round(stalled),
})
