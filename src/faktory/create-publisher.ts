import type { AnyTasks } from '../pool/jobs/task-types.js'
import { milliseconds, plainObject } from '../util/checks.js'
import { type OptionTable, option, readOptions } from '../util/option-table.js'
import { CONNECTION_OPTIONS, type ConnectionOptions, endpointOf, FIRST_CONNECTION_OPTIONS, type FirstConnectionOptions } from './options.js'
import { Publisher, type PublisherSettings } from './publishing/publisher.js'
import { DEFAULT_QUEUE, queueName } from './worker/queue-order.js'

/** Times in milliseconds. An option given as `undefined` counts as absent. */
export interface PublisherOptions extends ConnectionOptions, FirstConnectionOptions {
  /** The queue that jobs go to which name none. Default 'default'. */
  queue?: string
  /** ms for one command, including a wait for Faktory. Default 60,000. */
  publishTimeout?: number
}

/** The options of `createPublisher`. */
export const PUBLISHER_OPTIONS = {
  ...CONNECTION_OPTIONS,
  ...FIRST_CONNECTION_OPTIONS,
  queue: option('name', queueName, DEFAULT_QUEUE, 'the queue that jobs go to which name none'),
  publishTimeout: option('ms', milliseconds, 60_000, 'for one command, including a wait for Faktory'),
} satisfies OptionTable<PublisherOptions>

/** The options as the publisher uses them: validated, defaults filled in. Throws TypeError naming the option. */
export const readPublisherOptions = (options: unknown): PublisherSettings => {
  const { url, tls, ...rest } = readOptions(PUBLISHER_OPTIONS, 'createPublisher', plainObject('options', options))
  return { ...endpointOf({ url, tls }), ...rest }
}

/**
 * Connects a publisher to a Faktory server. Resolves when it is connected. A connection that is lost later is made again, however long that
 * takes.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {BrokerError} the server cannot be reached within `connectTimeout`, or refuses the password
 */
export const createPublisher = async <T = AnyTasks>(options: PublisherOptions = {}): Promise<Publisher<T>> => {
  const publisher = new Publisher<T>(readPublisherOptions(options))
  await publisher.start()
  return publisher
}
