import { createPool } from '../../pool/create-pool.js'
import { inheritedExecArgv } from '../../pool/inherited.js'
import type { Pool } from '../../pool/pool.js'
import type { RuntimeOptions } from '../../runtime/options.js'
import { Runtime } from '../../runtime/runtime.js'
import { pathTaskModule } from '../../runtime/task-paths.js'
import type { Broker } from '../broker.js'
import { Intake } from './intake.js'
import { logBroker, poolLogger } from './logging.js'
import { Node } from './node.js'
import { upWorkers } from './node-stats.js'
import { type NodeSettings, readNodeOptions } from './options.js'
import { Scale } from './scale.js'
import type { FarmNode, NodeOptions } from './types.js'

/**
 * Starts a node: a pool whose jobs come from `broker`. Resolves when the broker is connected and a worker is up; no worker is started
 * before the broker can be reached.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {WorkerStartError} no worker can be started: `cause` is the task module's own error
 * @throws what the broker refuses for a reason that does not pass: a login, a queue that exists with other arguments
 */
export const createNode = async (broker: Broker, options: NodeOptions): Promise<FarmNode> => {
  const settings = readNodeOptions(options)
  logBroker(broker, settings.logger)
  let pool: Pool | undefined
  try {
    // First: what the broker refuses is known before a process is started for nothing.
    await broker.connect()
    pool = await startPool(settings)
    const node = nodeOf(settings, broker, pool)
    await node.start()
    return node
  } catch (error) {
    await Promise.allSettled([pool?.terminate(), broker.close()])
    throw error
  }
}

const nodeOf = (settings: NodeSettings, broker: Broker, pool: Pool): Node => {
  const intake = new Intake(broker, settings.prefetchPerWorker)
  const scale = new Scale(settings, (workers) => {
    pool.resize(workers)
    intake.grown(upWorkers(pool.stats().workers), workers)
  })
  return new Node((report) => ({ settings, broker, pool, runtime: new Runtime(pool, runtimeOptions(settings, report)), intake, scale }))
}

const runtimeOptions = (settings: NodeSettings, report: RuntimeOptions['report']): RuntimeOptions => {
  const { name, roots, maxLosses, maxAttempts, backoff, taskDefaults, unknownTask, maxBodySize, taskHistory, logger } = settings
  return { node: name, report, roots, maxLosses, maxAttempts, backoff, taskDefaults, unknownTask, maxBodySize, taskHistory, logger }
}

const startPool = (settings: NodeSettings) => {
  const { tasks, roots, imports, minWorkers, concurrency, heartbeatInterval, softTimeLimit, timeLimit, maxJobsPerWorker, maxMemoryPerWorker, logger } = settings
  return createPool({
    tasks: roots.length > 0 ? [...tasks, pathTaskModule()] : tasks,
    workers: minWorkers,
    concurrency,
    heartbeatInterval,
    softTimeLimit,
    timeLimit,
    maxJobsPerWorker,
    maxMemoryPerWorker,
    output: 'capture',
    execArgv: imports.length === 0 ? undefined : [...inheritedExecArgv(process.execArgv), ...imports.flatMap((each) => ['--import', each])],
    logger: poolLogger(logger),
  })
}
