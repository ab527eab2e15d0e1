/** What is in a queue, if there is one, looked at on a channel of its own: RabbitMQ ends the channel that asks for a queue that is not there. */
import type { AmqpChannel, AmqpConnection } from '../connection/client.js'
import { closeChannel } from '../connection/closing.js'

/** Runs `errand` on a channel of its own. What the broker refuses ends that channel, and rejects with the broker's words. */
export const onChannel = async <T>(connection: AmqpConnection, errand: (channel: AmqpChannel) => Promise<T>): Promise<T> => {
  const channel = await connection.createChannel()
  // It shows in the call that it happens to; without a listener it would end the process as well.
  channel.on('error', () => {})
  const result = await errand(channel)
  await closeChannel(channel).catch(() => {})
  return result
}

/** The queue is not there, or was deleted a moment ago. */
export const isMissing = (error: unknown): boolean => (error as { code?: unknown }).code === 404

/** `count` of a queue that may not be there; undefined when it is not. */
const ofQueue = (connection: AmqpConnection, count: (channel: AmqpChannel) => Promise<{ messageCount: number }>): Promise<number | undefined> =>
  onChannel(connection, count).then(
    ({ messageCount }) => messageCount,
    (error: unknown) => {
      if (isMissing(error)) return undefined
      throw error
    },
  )

/** How many messages are ready in a queue; undefined when there is none of that name. */
export const readyIn = (connection: AmqpConnection, queue: string): Promise<number | undefined> => ofQueue(connection, (channel) => channel.checkQueue(queue))

/** Removes what is ready in a queue, and answers how many that were; undefined when there is none of that name. */
export const emptyQueue = (connection: AmqpConnection, queue: string): Promise<number | undefined> =>
  ofQueue(connection, (channel) => channel.purgeQueue(queue))
