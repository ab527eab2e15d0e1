import { withoutPassword } from '../../util/redact.js'
import { closeChannel, closeConnection } from '../connection/bounded-close.js'
import { type AmqpChannel, type AmqpConnection, connect, loadClient } from '../connection/client.js'
import { permanentError } from '../connection/connect-errors.js'
import type { Endpoint } from '../connection/endpoint.js'
import { BrokerError } from '../errors.js'

/** Connects, runs `operation` and closes. Rejects with BrokerError when RabbitMQ cannot be reached. Unlike a node, it does not try again. */
export const withConnection = async <T>(endpoint: Endpoint, operation: (connection: AmqpConnection) => Promise<T>): Promise<T> => {
  const client = await loadClient()
  let connection: AmqpConnection
  try {
    connection = await connect(client, endpoint, `prefork operator ${process.pid}`)
  } catch (cause) {
    const { url } = endpoint
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause)
    throw permanentError(url, cause) ?? new BrokerError(`RabbitMQ at ${withoutPassword(url)} cannot be reached: ${reason}`, { cause })
  }
  // The call that fails rejects. Without a listener the error would be an uncaught exception as well.
  connection.on('error', () => {})
  try {
    return await operation(connection)
  } finally {
    await closeConnection(connection)
  }
}

/** Calls `use` with a new channel. An error reply of the broker closes that channel, and rejects. */
export const withChannel = async <T>(connection: AmqpConnection, use: (channel: AmqpChannel) => Promise<T>): Promise<T> => {
  const channel = await connection.createChannel()
  // The call that fails rejects. Without a listener the error would be an uncaught exception as well.
  channel.on('error', () => {})
  const result = await use(channel)
  await closeChannel(channel).catch(() => {})
  return result
}

/** As `withChannel`, with several channels. They are closed only when `use` has ended. */
export const withChannels = async <T>(connection: AmqpConnection, count: number, use: (channels: readonly AmqpChannel[]) => Promise<T>): Promise<T> =>
  count <= 0 ? use([]) : withChannel(connection, (channel) => withChannels(connection, count - 1, (others) => use([channel, ...others])))

/** The queue does not exist. */
export const isNotFound = (error: unknown): boolean => (error as { code?: unknown }).code === 404

/** The message count that `count` resolves with; undefined when the queue does not exist. On a channel of its own, which RabbitMQ closes in that case. */
const messageCountOf = (connection: AmqpConnection, count: (channel: AmqpChannel) => Promise<{ messageCount: number }>): Promise<number | undefined> =>
  withChannel(connection, count).then(
    ({ messageCount }) => messageCount,
    (error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    },
  )

/** How many messages are ready in a queue; undefined when it does not exist. */
export const readyMessages = (connection: AmqpConnection, queue: string): Promise<number | undefined> =>
  messageCountOf(connection, (channel) => channel.checkQueue(queue))

/** Removes the ready messages of a queue. Resolves with their number; undefined when it does not exist. */
export const purgeQueue = (connection: AmqpConnection, queue: string): Promise<number | undefined> =>
  messageCountOf(connection, (channel) => channel.purgeQueue(queue))
