import type { WorkerStats } from '../../pool/types.js'
import type { QueueBacklog } from '../broker.js'
import type { NodeParts } from '../node-stats.js'
import type { Load } from './growth.js'
import type { Workers } from './node-autoscaler.js'
import type { WorkerCpu } from './worker-cpu.js'

/** ms for a start, where none has been measured. */
const START_TIME = 500

/** What a look has found. */
export interface Seen extends Pick<Load, 'roomTaken' | 'now'> {
  readonly backlog: readonly QueueBacklog[]
  /** Those that are up. */
  readonly workers: readonly WorkerStats[]
  readonly cpu: WorkerCpu
  /** When the node began to take jobs. */
  readonly since: number
}

/** What the node knows of its load and its workers. */
export const loadOf = ({ pool, runtime, settings }: NodeParts, { backlog, workers, cpu, roomTaken, since, now }: Seen): { load: Load; workers: Workers } => {
  const { running, peakRunning, starting, startTime = START_TIME, startsFail } = pool.load()
  cpu.noteStarting(starting, now)
  const { runTimes } = runtime
  const { jobs, longest } = runtime.waiting(now)
  const load: Load = {
    now,
    waiting: [...jobs].map(([name, count]) => ({ jobs: count, runTime: runTimes.mean(name) })),
    waited: longest,
    // Which tasks they are of is not known.
    ready: { jobs: backlog.reduce((sum, { ready, share = 1 }) => sum + ready * share, 0), runTime: runTimes.all.mean },
    asked: backlog.length > 0,
    roomTaken,
    shared: backlog.some(({ share }) => share !== 1),
    running,
    lastBegan: runTimes.lastBegan ?? since,
    up: workers.length,
    starting,
    startTime,
    startsFail,
    cpuFree: cpu.isFree(workers),
  }
  const idle = workers.filter((worker) => worker.running === 0 && worker.writtenAhead === 0).length
  return { load, workers: { idle, needed: cpu.needed(peakRunning, settings.concurrency, workers) } }
}
