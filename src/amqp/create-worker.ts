import { createNode, type FarmNode, type NodeOptions } from '../node/index.js'
import { defaultNodeName, NODE_OPTIONS } from '../node/options.js'
import { milliseconds, plainObject, refuseUnknownNames } from '../util/checks.js'
import { namesOf, type OptionTable, option, readKnown } from '../util/option-table.js'
import { AmqpBroker } from './amqp-broker.js'
import {
  CONNECTION_OPTIONS,
  CONTROL_OPTIONS,
  type ConnectionOptions,
  type ControlOptions,
  endpointOf,
  QUEUE_OPTIONS,
  type QueueOptions,
  queueNames,
  readQueueName,
} from './options/client-options.js'
import { DEFAULT_QUEUE } from './topology/topology.js'

/** Times in milliseconds. An option given as `undefined` counts as absent. */
export interface WorkerOptions extends NodeOptions, ConnectionOptions, QueueOptions, ControlOptions {
  /** The queue that the jobs come from. Default 'async_farm.jobs'. */
  queue?: string
  /** Several queues, which share the node's prefetch, instead of `queue`. Default only `queue`. */
  queues?: readonly string[]
  /**
   * ms that a job may be unsettled before RabbitMQ delivers it again. The node can set it from RabbitMQ 4.3 on, for quorum queues that
   * it declares.
   * Default the longest hard time limit plus the grace, at least 24 hours.
   */
  consumerTimeout?: number
}

const OWN_OPTIONS = {
  ...CONNECTION_OPTIONS,
  ...QUEUE_OPTIONS,
  ...CONTROL_OPTIONS,
  queue: option('name', readQueueName, DEFAULT_QUEUE, 'the queue that the jobs come from'),
  queues: option('names', queueNames, undefined, 'several queues, instead of `queue`', 'only `queue`'),
  consumerTimeout: option('ms', milliseconds, undefined, 'the default is the longest hard limit plus the grace, at least 24 h', 'from the limits'),
} satisfies OptionTable<Omit<WorkerOptions, keyof NodeOptions>>

/** The options of `createWorker`. */
export const WORKER_OPTIONS = { ...NODE_OPTIONS, ...OWN_OPTIONS } satisfies OptionTable<WorkerOptions>

/**
 * Starts a node that executes jobs from RabbitMQ. Resolves when a worker is up and the queues are consumed. While RabbitMQ cannot be
 * reached, it waits, without workers; a task module that cannot be loaded rejects even then.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {WorkerStartError} no worker can be started: `cause` is the task module's own error
 * @throws {BrokerError} the login is refused, or a queue or an exchange exists as something else
 * @throws {PreforkError} `ERR_PREFORK_AMQPLIB_MISSING`: the package amqplib is not installed
 */
export const createWorker = async (options: WorkerOptions): Promise<FarmNode> => {
  const given = plainObject('options', options)
  refuseUnknownNames('createWorker', given, namesOf(WORKER_OPTIONS))
  const { url, tls, queueType, priorityLevels, declare, queue, queues = [queue], ...control } = readKnown(OWN_OPTIONS, given)
  if (given.queue !== undefined && given.queues !== undefined)
    throw new TypeError("Option 'queue' and option 'queues' were both given: name the queues in one of them.")
  const forNode: NodeOptions = Object.fromEntries(Object.entries(given).filter(([name]) => !Object.hasOwn(OWN_OPTIONS, name)))
  // The broker also writes the node's name into messages.
  const name = options.name ?? defaultNodeName()
  const broker = new AmqpBroker({ ...endpointOf({ url, tls }), queues, shape: { queueType, priorityLevels, declare }, ...control }, name)
  return createNode(broker, { ...forNode, name })
}
