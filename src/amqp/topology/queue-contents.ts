import { closeChannel } from '../connection/bounded-close.js'
import type { AmqpChannel, AmqpConnection } from '../connection/client.js'

/** Calls `use` with a new channel. An error reply of the broker closes that channel, and rejects. */
export const withChannel = async <T>(connection: AmqpConnection, use: (channel: AmqpChannel) => Promise<T>): Promise<T> => {
  const channel = await connection.createChannel()
  // The call that fails rejects. Without a listener the error would be an uncaught exception as well.
  channel.on('error', () => {})
  const result = await use(channel)
  await closeChannel(channel).catch(() => {})
  return result
}

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
