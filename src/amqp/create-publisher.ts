import type { AnyTasks } from '../pool/jobs/task-types.js'
import { milliseconds, plainObject } from '../util/checks.js'
import { type OptionTable, option, readOptions } from '../util/option-table.js'
import {
  CONNECTION_OPTIONS,
  type ConnectionOptions,
  endpointOf,
  FIRST_CONNECTION_OPTIONS,
  type FirstConnectionOptions,
  QUEUE_OPTIONS,
  type QueueOptions,
  readQueueName,
} from './options/client-options.js'
import { Publisher, type PublisherSettings } from './publishing/publisher.js'
import { DEFAULT_QUEUE } from './topology/topology.js'

/** Times in milliseconds. An option given as `undefined` counts as absent. */
export interface PublisherOptions extends ConnectionOptions, FirstConnectionOptions, QueueOptions {
  /** The queue that the jobs go to. Default 'async_farm.jobs'. */
  queue?: string
  /** ms for one publication, including a wait for RabbitMQ. Default 60,000: longer than it takes to notice a peer that is gone. */
  publishTimeout?: number
}

/** The options of `createPublisher`. */
export const PUBLISHER_OPTIONS = {
  ...CONNECTION_OPTIONS,
  ...FIRST_CONNECTION_OPTIONS,
  ...QUEUE_OPTIONS,
  queue: option('name', readQueueName, DEFAULT_QUEUE, 'the queue that the jobs go to'),
  publishTimeout: option('ms', milliseconds, 60_000, 'for one publication, including a wait for RabbitMQ'),
} satisfies OptionTable<PublisherOptions>

/** The options as the publisher uses them: validated, defaults filled in. Throws TypeError naming the option. */
export const readPublisherOptions = (options: unknown): PublisherSettings => {
  const { url, tls, queueType, priorityLevels, declare, ...rest } = readOptions(PUBLISHER_OPTIONS, 'createPublisher', plainObject('options', options))
  return { ...endpointOf({ url, tls }), shape: { queueType, priorityLevels, declare }, ...rest }
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
