import type { AnyTasks } from '../pool/types.js'
import { knownNames, milliseconds, plainObject } from '../util/checks.js'
import {
  CONNECTION_NAMES,
  type ConnectionOptions,
  FIRST_CONNECTION_NAMES,
  type FirstConnectionOptions,
  QUEUE_NAMES,
  type QueueOptions,
  readConnectTimeout,
  readEndpoint,
  readQueueName,
  readShape,
} from './options/node-options.js'
import { Publisher, type PublisherSettings } from './publishing/publisher.js'
import { DEFAULT_QUEUE } from './topology/topology.js'

/** Times in milliseconds. An option given as `undefined` counts as absent. */
export interface PublisherOptions extends ConnectionOptions, FirstConnectionOptions, QueueOptions {
  /** Default `async_farm.jobs`. */
  queue?: string
  /** ms that one publication may take, a wait for the broker included. Default 30,000. */
  publishTimeout?: number
}

const NAMES = [...CONNECTION_NAMES, ...FIRST_CONNECTION_NAMES, ...QUEUE_NAMES, 'queue', 'publishTimeout'] as const satisfies readonly (keyof PublisherOptions)[]

/** The options as the publisher uses them: validated, defaults filled in. Throws TypeError naming the option. */
export const readPublisherOptions = (options: unknown): PublisherSettings => {
  const given = plainObject('options', options)
  knownNames('createPublisher', given, NAMES)
  return {
    ...readEndpoint(given),
    queue: given.queue === undefined ? DEFAULT_QUEUE : readQueueName('queue', given.queue),
    shape: readShape(given),
    publishTimeout: given.publishTimeout === undefined ? 30_000 : milliseconds('publishTimeout', given.publishTimeout),
    connectTimeout: readConnectTimeout(given),
  }
}

/**
 * Connects a publisher to RabbitMQ. Resolves when it is connected and the queue exists. A connection that is lost later is made again,
 * however long that takes.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {BrokerError} RabbitMQ cannot be reached within `connectTimeout`, the login is refused, or the queue exists as something else
 * @throws {PreforkError} `ERR_PREFORK_AMQPLIB_MISSING`: the package amqplib is not installed
 */
export const createPublisher = async <T = AnyTasks>(options: PublisherOptions = {}): Promise<Publisher<T>> => {
  const publisher = new Publisher<T>(readPublisherOptions(options))
  await publisher.start()
  return publisher
}
