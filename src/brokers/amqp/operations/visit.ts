/** A connection for one errand of an operator's: it fails at once where a node would keep trying. */
import { type AmqpChannel, type AmqpConnection, loadClient } from '../connection/client.js'
import { closeChannel, closeConnection } from '../connection/closing.js'
import { lastingRefusal, shownUrl } from '../connection/refusals.js'
import { BrokerError } from '../errors.js'

const CONNECT_TIMEOUT = 10_000

/** Connects, runs `errand` and closes. Rejects with BrokerError when RabbitMQ cannot be reached. */
export const visit = async <T>(url: string, errand: (connection: AmqpConnection) => Promise<T>): Promise<T> => {
  const client = await loadClient()
  let connection: AmqpConnection
  try {
    connection = await client.connect(url, {
      timeout: CONNECT_TIMEOUT,
      noDelay: true,
      keepAlive: true,
      clientProperties: { connection_name: `prefork operator ${process.pid}`, product: 'prefork' },
    })
  } catch (cause) {
    throw (
      lastingRefusal(url, cause) ??
      new BrokerError(`RabbitMQ at ${shownUrl(url)} cannot be reached: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`, { cause })
    )
  }
  // What goes wrong shows in the call that it happens to.
  connection.on('error', () => {})
  try {
    return await errand(connection)
  } finally {
    await closeConnection(connection)
  }
}

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
