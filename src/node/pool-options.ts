import type { PoolOptions } from '../pool/types.js'
import { inheritedExecArgv } from '../pool/worker/inherited-options.js'
import { pathTaskModule } from '../runtime/path-tasks/task-paths.js'
import { poolLogger } from './logging.js'
import type { NodeSettings } from './options.js'

/** The pool of a node. Its own autoscaler is off: the node says how many workers there are. */
export const poolOptions = (settings: NodeSettings): PoolOptions => {
  const { tasks, roots, imports, minWorkers, concurrency, heartbeatInterval, softTimeLimit, timeLimit, maxJobsPerWorker, maxMemoryPerWorker, logger } = settings
  return {
    tasks: roots.length > 0 ? [...tasks, pathTaskModule()] : tasks,
    workers: minWorkers,
    concurrency,
    heartbeatInterval,
    softTimeLimit,
    timeLimit,
    maxJobsPerWorker,
    maxMemoryPerWorker,
    // No job is dropped for a restart or a recycling: it would run a second time.
    drainTimeout: Number.POSITIVE_INFINITY,
    output: 'capture',
    execArgv: imports.length === 0 ? undefined : [...inheritedExecArgv(process.execArgv), ...imports.flatMap((each) => ['--import', each])],
    logger: poolLogger(logger),
  }
}
