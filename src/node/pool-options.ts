import type { PoolLogger, PoolOptions } from '../pool/types.js'
import { inheritedExecArgv } from '../pool/worker/launch/inherited-options.js'
import { pathTaskModule } from '../runtime/path-tasks/task-paths.js'
import type { NodeSettings } from './options.js'

/** The options of a node's pool. The pool's own autoscaler is off: the node sets the number of workers. */
export const poolOptions = (settings: NodeSettings): PoolOptions => {
  const { tasks, roots, imports, minWorkers, concurrency, heartbeatInterval, softTimeLimit, timeLimit, cancelGrace } = settings
  const { env, maxJobsPerWorker, maxMemoryPerWorker, niceness, launcher, sharedMemory, logger } = settings
  return {
    tasks: roots.length > 0 ? [...tasks, pathTaskModule()] : tasks,
    env,
    workers: minWorkers,
    concurrency,
    heartbeatInterval,
    softTimeLimit,
    timeLimit,
    cancelGrace,
    maxJobsPerWorker,
    maxMemoryPerWorker,
    niceness,
    launcher,
    sharedMemory,
    // A restart or a recycling kills no job, because the job would run a second time.
    drainTimeout: Number.POSITIVE_INFINITY,
    output: 'capture',
    execArgv: imports.length === 0 ? undefined : [...inheritedExecArgv(process.execArgv), ...imports.flatMap((each) => ['--import', each])],
    logger: poolLogger(logger),
  }
}

/** Lines of the pool about jobs. The runtime logs the same with more details. */
const isAboutJobs = (details: object, message: string): boolean => 'stream' in details || message.startsWith('job ')

/** The node's logger without the lines that the runtime writes itself. */
const poolLogger = (logger: PoolLogger | undefined): PoolLogger | undefined => {
  if (logger === undefined) return undefined
  const call =
    (level: keyof PoolLogger) =>
    (details: object, message: string): void => {
      if (!isAboutJobs(details, message)) logger[level](details, message)
    }
  return { trace: call('trace'), debug: call('debug'), info: call('info'), warn: call('warn'), error: call('error') }
}
