import { createPool, makePool, whenUp } from '../pool/create-pool.js'
import type { Pool } from '../pool/pool.js'
import type { RuntimeOptions } from '../runtime/options.js'
import { Runtime } from '../runtime/runtime.js'
import type { Broker } from './broker.js'
import { connectOrProbe, mayPass } from './connect-or-probe.js'
import { logBroker } from './logging.js'
import { Node } from './node.js'
import { upWorkers } from './node-stats.js'
import { type NodeSettings, readNodeOptions } from './options.js'
import { poolOptions } from './pool-options.js'
import { Prefetch } from './prefetch.js'
import { Scale } from './scale.js'
import type { FarmNode, NodeOptions } from './types.js'

/**
 * Starts a node: a pool whose jobs come from `broker`. Resolves when the broker is connected and a worker is up. Its workers are started
 * when the broker is reached; while it is away, one is started once, to see whether the task modules can be loaded, and leaves again.
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
    await connectOrProbe(
      () => broker.connect(),
      (refused) => tryTasks(settings, refused),
    )
    pool = await createPool(poolOptions(settings))
    const node = nodeOf(settings, broker, pool)
    await node.start()
    return node
  } catch (error) {
    await Promise.allSettled([pool?.terminate(), broker.close()])
    throw error
  }
}

const nodeOf = (settings: NodeSettings, broker: Broker, pool: Pool): Node => {
  const intake = new Prefetch(broker, settings.prefetchPerWorker)
  const scale = new Scale(settings, (workers) => {
    pool.resize(workers)
    intake.grown(upWorkers(pool.stats().workers), workers)
  })
  return new Node((report, heard) => ({ settings, broker, pool, runtime: new Runtime(pool, runtimeOptions(settings, report, heard)), intake, scale }))
}

const runtimeOptions = (settings: NodeSettings, report: RuntimeOptions['report'], heard: () => boolean): RuntimeOptions => {
  const { name, roots, maxLosses, maxAttempts, backoff, taskDefaults, unknownTask, maxBodySize, taskHistory, logger } = settings
  return { node: name, report, heard, roots, maxLosses, maxAttempts, backoff, taskDefaults, unknownTask, maxBodySize, taskHistory, logger }
}

/** Loads the task modules in a worker that takes no job, and is ended when the broker has refused. Rejects where it is they that keep it from starting. */
const tryTasks = async (settings: NodeSettings, refused: AbortSignal): Promise<void> => {
  const { logger } = settings
  const pool = makePool(poolOptions({ ...settings, minWorkers: 1, logger: undefined }))
  const end = (): void => void pool.terminate()
  refused.addEventListener('abort', end, { once: true })
  try {
    await whenUp(pool)
    await pool.close()
  } catch (error) {
    if (!mayPass(error)) throw error
    logger?.warn({ err: error }, 'The broker is not there yet, and until it is the task modules cannot be loaded either; they are tried again then')
  } finally {
    refused.removeEventListener('abort', end)
  }
}
