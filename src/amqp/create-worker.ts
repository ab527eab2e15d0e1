import { randomInt } from 'node:crypto'
import { hostname } from 'node:os'
import { createNode, type FarmNode, type NodeOptions } from '../node/index.js'
import { NODE_OPTION_NAMES } from '../node/options.js'
import { knownNames, milliseconds, plainObject } from '../util/checks.js'
import { AmqpBroker } from './broker.js'
import {
  CONNECTION_NAMES,
  CONTROL_NAMES,
  type ConnectionOptions,
  type ControlOptions,
  QUEUE_NAMES,
  type QueueOptions,
  readControl,
  readEndpoint,
  readQueues,
  readShape,
} from './options/node-options.js'

/** Times in milliseconds. An option given as `undefined` counts as absent. */
export interface WorkerOptions extends NodeOptions, ConnectionOptions, QueueOptions, ControlOptions {
  /** The queue to take jobs from. Default `async_farm.jobs`. */
  queue?: string
  /** Several queues, which share the node's prefetch. Instead of `queue`. */
  queues?: readonly string[]
  /**
   * ms that a job may be unsettled before RabbitMQ delivers it again. The node can set it from RabbitMQ 4.3 on, for quorum queues that
   * it declares. Default: the longest hard time limit plus the grace, at least 24 hours.
   */
  consumerTimeout?: number
}

const OWN_NAMES = [
  ...CONNECTION_NAMES,
  ...QUEUE_NAMES,
  ...CONTROL_NAMES,
  'queue',
  'queues',
  'consumerTimeout',
] as const satisfies readonly (keyof WorkerOptions)[]

const letters = (length: number): string => Array.from({ length }, () => String.fromCharCode(97 + randomInt(26))).join('')

/**
 * Starts a node that executes jobs from RabbitMQ. Resolves when a worker is up and the queues are consumed. While RabbitMQ cannot be
 * reached, it waits, without workers; a task module that cannot be loaded rejects even then.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {WorkerStartError} no worker can be started: `cause` is the task module's own error
 * @throws {BrokerError} the login is refused, or a queue exists as something else
 * @throws {PreforkError} `ERR_PREFORK_AMQPLIB_MISSING`: the package amqplib is not installed
 */
export const createWorker = async (options: WorkerOptions): Promise<FarmNode> => {
  const given = plainObject('options', options)
  knownNames('createWorker', given, [...NODE_OPTION_NAMES, ...OWN_NAMES])
  const own: readonly string[] = OWN_NAMES
  const forNode: NodeOptions = Object.fromEntries(Object.entries(given).filter(([name]) => !own.includes(name)))
  // The broker also writes the node's name into messages.
  const name = options.name ?? `${hostname()}-${process.pid}-${letters(4)}`
  const broker = new AmqpBroker(
    {
      ...readEndpoint(given),
      queues: readQueues(given),
      shape: readShape(given),
      ...readControl(given),
      consumerTimeout: given.consumerTimeout === undefined ? undefined : milliseconds('consumerTimeout', given.consumerTimeout),
    },
    name,
  )
  return createNode(broker, { ...forNode, name })
}
