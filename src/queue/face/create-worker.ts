import { createNode, type FarmNode, type NodeOptions, type ShutdownReport } from '../../node/index.js'
import { defaultNodeName, NODE_OPTIONS, readNodeOptions } from '../../node/options.js'
import { bytes, flag, OptionError, plainObject, refuseUnknownNames } from '../../util/checks.js'
import { namesOf, type OptionTable, option, readKnown } from '../../util/option-table.js'
import { hooks, type NodeHook, NodeHooks } from '../broker/hooks.js'
import { QueueBroker } from '../broker/queue-broker.js'
import { DEFAULT_MAX_SIZE, DEFAULT_QUEUE, validName, validNames } from '../jobs/names.js'
import { makeStore, STORE_OPTION } from '../store/make-store.js'

/** Times in milliseconds. An option given as `undefined` counts as absent. */
export interface WorkerOptions extends NodeOptions {
  /** Where the jobs are kept: 'sqlite:./jobs.db', or 'memory:' (or 'memory:name') for this process. Required. */
  store: string
  /** The queue that the jobs come from. Default 'default'. */
  queue?: string
  /** Several queues, instead of `queue`: the most urgent job of all of them is first. Default only `queue`. */
  queues?: readonly string[]
  /** False: a bare worker, which adds no jobs of schedules and lets no job go that a user delayed; its own retries and expiry work. Default true. */
  schedulers?: boolean
  /** The largest result, and the largest progress value, in bytes. Default 1 MiB. */
  maxResultSize?: number
  /** Called before the first claim, one after the other; one that throws ends the start. Default none. */
  onStartup?: NodeHook | readonly NodeHook[]
  /** Called when no job runs any more, one after the other; one that throws is logged. Default none. */
  onShutdown?: NodeHook | readonly NodeHook[]
}

const noHooks = (): readonly NodeHook[] => []

const OWN_OPTIONS = {
  store: STORE_OPTION,
  queue: option('name', validName, DEFAULT_QUEUE, 'the queue that the jobs come from'),
  queues: option('names', validNames, undefined, 'several queues, instead of `queue`', 'only `queue`'),
  schedulers: option('boolean', flag, true, '`false`: no ticks of schedules, and jobs that a user delayed stay delayed'),
  maxResultSize: option('bytes', bytes, DEFAULT_MAX_SIZE, 'largest result, and largest progress value'),
  onStartup: option('function', hooks, noHooks, 'called before the first claim; one that throws ends the start', 'none'),
  onShutdown: option('function', hooks, noHooks, 'called when no job runs any more; one that throws is logged', 'none'),
} satisfies OptionTable<Omit<WorkerOptions, keyof NodeOptions>>

/** The options of `createWorker`. */
export const WORKER_OPTIONS = { ...NODE_OPTIONS, ...OWN_OPTIONS } satisfies OptionTable<WorkerOptions>

/** The names of the options have been checked. */
const startNode = async (options: WorkerOptions): Promise<FarmNode> => {
  const given = plainObject('options', options)
  const { store: address, queue, queues = [queue], schedulers, maxResultSize, onStartup, onShutdown } = readKnown(OWN_OPTIONS, given)
  if (given.queue !== undefined && given.queues !== undefined)
    throw new TypeError("Option 'queue' and option 'queues' were both given: name the queues in one of them.")
  const name = options.name ?? defaultNodeName()
  const forNode: NodeOptions = { ...Object.fromEntries(Object.entries(given).filter(([each]) => !Object.hasOwn(OWN_OPTIONS, each))), name }
  // Before the store is made, which is to be closed then.
  readNodeOptions(forNode)
  let node: FarmNode | undefined
  let fatal: Error | undefined
  const broker = new QueueBroker(await makeStore(address), {
    queues,
    name,
    schedulers,
    maxResultSize,
    hooks: new NodeHooks({ store: address, node: name, queues }, onStartup, onShutdown),
    onFatal: (error) => {
      fatal = error
      options.logger?.error({ err: error }, 'the store cannot be used any more: the node ends')
      void node?.shutdown({ grace: 0, reason: error.message, error })
    },
  })
  node = await createNode(broker, forNode)
  if (fatal !== undefined) {
    await node.shutdown({ grace: 0 })
    throw fatal
  }
  for (const [task, { rateLimit }] of Object.entries(options.taskDefaults ?? {}))
    if (rateLimit !== undefined)
      options.logger?.warn({ task }, 'a rate limit of a task is kept by each node alone, and jobs that wait for it take up room: a queue of its own is better')
  return node
}

/**
 * Starts a node that executes the jobs of queues. Resolves when a worker is up and jobs are claimed.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {WorkerStartError} no worker can be started: `cause` is the task module's own error
 * @throws {StoreError} the store cannot be used: the message says what to do
 * @throws what a start-up hook throws
 */
export const createWorker = async (options: WorkerOptions): Promise<FarmNode> => {
  refuseUnknownNames('createWorker', plainObject('options', options), namesOf(WORKER_OPTIONS))
  return await startNode(options)
}

export interface RunWorkerOptions extends WorkerOptions {
  /** Shuts the node down when it aborts. Default none: a command ends it, or the store does. */
  signal?: AbortSignal
}

const RUN_NAMES = [...namesOf(WORKER_OPTIONS), 'signal']

/**
 * Runs the jobs of queues until `signal` aborts, and then until what runs has ended, for at most `shutdownGrace`. Resolves with how that
 * went. It handles no signal of the operating system: that is the application's.
 *
 * @throws as `createWorker`
 * @throws {StoreError} the file was damaged or removed, or its thread has failed: the node has ended
 */
export const runWorker = async (options: RunWorkerOptions): Promise<ShutdownReport> => {
  refuseUnknownNames('runWorker', plainObject('options', options), RUN_NAMES)
  return await run(options)
}

/** Options of `runWorker` that a queue has set itself. */
export const SET_BY_QUEUE = ['store', 'queue', 'queues'] as const

/** `runWorker`, as the method of a queue. */
export const runQueue = async (options: Omit<RunWorkerOptions, (typeof SET_BY_QUEUE)[number]>, queue: { store: string; queue: string }) => {
  const given = plainObject('options', options)
  for (const name of SET_BY_QUEUE)
    if (given[name] !== undefined) throw new OptionError(name, 'is not for queue.run, which runs the jobs of its own queue: runWorker and createWorker take it')
  const others: readonly string[] = SET_BY_QUEUE
  refuseUnknownNames(
    'queue.run',
    given,
    RUN_NAMES.filter((name) => !others.includes(name)),
  )
  return await run({ ...options, ...queue })
}

const run = async ({ signal, ...options }: RunWorkerOptions): Promise<ShutdownReport> => {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw new OptionError('signal', 'must be an AbortSignal')
  if (signal?.aborted) return { clean: true, requeued: 0, killed: 0 }
  const node = await startNode(options)
  const stop = (): void => void node.shutdown({ reason: 'its signal' })
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    const report = await node.done
    if (report.error !== undefined) throw report.error
    return report
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}
