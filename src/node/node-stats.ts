import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { performance } from 'node:perf_hooks'
import type { Pool } from '../pool/pool.js'
import type { WorkerStats } from '../pool/types.js'
import type { NodeStats, NodeWorker } from '../runtime/report/report.js'
import type { Runtime } from '../runtime/runtime.js'
import { ownFile } from '../util/own-files.js'
import type { Broker } from './broker.js'
import type { NodeSettings } from './options.js'
import type { NodeAutoscaler } from './scaling/node-autoscaler.js'
import type { PrefetchControl } from './scaling/prefetch-control.js'

let version: string | undefined

/** The version of this package, from its package.json. */
export const packageVersion = (): string => {
  version ??= (JSON.parse(readFileSync(ownFile('../package.json'), 'utf8')) as { version: string }).version
  return version
}

/** It takes jobs. */
export const isUp = ({ state }: WorkerStats): boolean => state === 'up' || state === 'busy'

export const upWorkers = (workers: readonly WorkerStats[]): number => workers.filter(isUp).length

/** Bytes of resident memory of this process and the workers, as far as these have told. */
export const residentMemory = (pool: Pool): number => pool.stats().workers.reduce((sum, { rss }) => sum + (rss ?? 0), process.memoryUsage.rss())

export interface NodeParts {
  readonly settings: NodeSettings
  readonly broker: Broker
  readonly pool: Pool
  readonly runtime: Runtime
  readonly prefetch: PrefetchControl
  readonly scale: NodeAutoscaler
}

/** The part of the statistics that the node itself keeps. */
export interface NodeProgress {
  readonly state: NodeStats['state']
  readonly depth: number | undefined
  /** ms on the monotonic clock. */
  readonly startedAt: number
}

/** The node as it is now. */
export const nodeStats = ({ settings, broker, pool, runtime, prefetch, scale }: NodeParts, { state, depth, startedAt }: NodeProgress): NodeStats => {
  const { workers, running } = pool.stats()
  const { totals, held, rateLimits } = runtime.stats
  return {
    node: settings.name,
    pid: process.pid,
    host: hostname(),
    version: packageVersion(),
    uptime: Math.round(performance.now() - startedAt),
    heartbeatInterval: settings.heartbeatInterval,
    state,
    connected: broker.connected,
    queues: [...broker.queues],
    depth,
    prefetch: prefetch.capacity,
    held,
    running,
    scale: { ...scale.report, alive: upWorkers(workers) },
    totals,
    rss: process.memoryUsage.rss(),
    rateLimits,
    workers: workers.map((worker) => nodeWorker(worker, runtime)),
  }
}

const nodeWorker = ({ id, pid, state, rss, uptime, running, job, stalled }: WorkerStats, runtime: Runtime): NodeWorker => {
  const { succeeded, failed, retried } = runtime.countsOf(id)
  return {
    id,
    pid,
    state,
    rss,
    uptime: Math.round(uptime),
    done: succeeded,
    failed,
    retried,
    running,
    job: job === undefined ? undefined : { ...job, age: Math.round(job.age) },
    stalled: Math.round(stalled),
  }
}
