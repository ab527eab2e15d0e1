import { performance } from 'node:perf_hooks'
import { createPool, makePool, whenUp } from '../pool/create-pool.js'
import type { Pool } from '../pool/pool.js'
import type { PoolLogger } from '../pool/types.js'
import type { RuntimeOptions } from '../runtime/options.js'
import { Runtime } from '../runtime/runtime.js'
import { availableCpus } from '../util/available-cpus.js'
import { OptionError } from '../util/checks.js'
import type { Broker } from './broker.js'
import { connectOrProbe, isTransient } from './connect-or-probe.js'
import { Node } from './node.js'
import { upWorkers } from './node-stats.js'
import { type NodeSettings, readNodeOptions } from './options.js'
import { poolOptions } from './pool-options.js'
import { NodeAutoscaler } from './scaling/node-autoscaler.js'
import { PrefetchControl } from './scaling/prefetch-control.js'
import type { FarmNode, NodeOptions } from './types.js'

/**
 * Starts a node: a pool whose jobs come from `broker`. Resolves when the broker is connected and a worker is up. The workers are started
 * when the broker is connected. If that takes long, one worker is started and ended again, to find task modules that cannot be loaded.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {WorkerStartError} no worker can be started: `cause` is the task module's own error
 * @throws what `broker.connect` and `broker.start` reject with: a refused login, a queue that exists with other arguments
 */
export const createNode = async (broker: Broker, options: NodeOptions): Promise<FarmNode> => {
  // First: what is refused need not be right.
  refuseUnsupported(broker, options)
  const settings = readNodeOptions(options)
  logBroker(broker, settings.logger)
  const connected = settings.logger === undefined ? warnOnce(broker) : undefined
  let pool: Pool | undefined
  try {
    // First: a broker that refuses is found before any process is started.
    await connectOrProbe(
      () => broker.connect(),
      (refused) => probeTasks(settings, refused),
    )
    connected?.()
    pool = await createPool(poolOptions(settings))
    const node = nodeOf(settings, broker, pool)
    await node.start()
    return node
  } catch (error) {
    await Promise.allSettled([pool?.terminate(), broker.close()])
    throw error
  }
}

/** Throws OptionError for an option that this broker cannot keep. */
const refuseUnsupported = ({ kind, unsupported }: Broker, options: NodeOptions): void => {
  for (const [name, why] of Object.entries(unsupported ?? {}))
    if ((options as NodeOptions | undefined)?.[name as keyof NodeOptions] !== undefined)
      throw new OptionError(name, `is no option of a node under '${kind}': ${why}`)
}

const logBroker = (broker: Broker, logger: PoolLogger | undefined): void => {
  broker.on('connected', () => logger?.info({ broker: broker.kind }, 'broker connected'))
  broker.on('disconnected', (err) => logger?.warn({ broker: broker.kind, err }, 'broker connection lost'))
  broker.on('warning', (message) => logger?.warn({ broker: broker.kind }, message))
}

/** Without a logger, a start that waits for its broker would do so without a word: the first reason is a warning of the process. The returned function ends that. */
const warnOnce = (broker: Broker): (() => void) => {
  let done = false
  broker.on('warning', (message) => {
    if (!done) process.emitWarning(`A node waits for its broker (and has no 'logger'): ${message}`)
    done = true
  })
  return () => {
    done = true
  }
}

const nodeOf = (settings: NodeSettings, broker: Broker, pool: Pool): Node => {
  const prefetch = new PrefetchControl(broker, settings)
  const system = { cpus: availableCpus(), now: performance.now() }
  const scale = new NodeAutoscaler(settings, system, (workers) => {
    pool.resize(workers)
    prefetch.workersChanged(upWorkers(pool.stats().workers), workers)
  })
  const node: Node = new Node((report, hasListeners) => ({
    settings,
    broker,
    pool,
    runtime: new Runtime(pool, {
      ...runtimeOptions(settings, report, hasListeners),
      retries: broker.retries === true ? 'broker' : 'node',
      onWaiting: (jobs) => prefetch.setWaiting(jobs),
      onIntake: (intake) => prefetch.setIntake(intake),
      onMeasured: () => node.scaling.measured(),
      revocationSpent: ({ id, queue, key }) => broker.control.tellNodes?.({ command: 'revocation_spent', id, queue, key, node: settings.name }),
    }),
    prefetch,
    scale,
  }))
  return node
}

const runtimeOptions = (settings: NodeSettings, report: RuntimeOptions['report'], heard: () => boolean): RuntimeOptions => {
  const { name, roots, maxLosses, maxAttempts, backoff, taskDefaults, unknownTask, unknownTaskTimeout, maxBodySize, taskHistory, showArguments, logger } =
    settings
  return {
    node: name,
    report,
    heard,
    roots,
    maxLosses,
    maxAttempts,
    backoff,
    taskDefaults,
    unknownTask,
    unknownTaskTimeout,
    maxBodySize,
    taskHistory,
    showArguments,
    logger,
  }
}

/** Loads the task modules in one worker that takes no job. Rejects when they cannot be loaded. The worker is ended when the broker refuses meanwhile. */
const probeTasks = async (settings: NodeSettings, refused: AbortSignal): Promise<void> => {
  const { logger } = settings
  const pool = makePool(poolOptions({ ...settings, minWorkers: 1, logger: undefined }))
  const end = (): void => void pool.terminate()
  refused.addEventListener('abort', end, { once: true })
  try {
    await whenUp(pool)
    await pool.close()
  } catch (error) {
    if (!isTransient(error)) throw error
    logger?.warn(
      { err: error },
      'The broker cannot be reached yet, and the task modules cannot be loaded either. They are loaded again when the broker is reached',
    )
  } finally {
    refused.removeEventListener('abort', end)
  }
}
