/**
 * Ends of channels and connections. amqplib waits for the other end's answer for ever: a peer that is gone gives none, and neither does
 * a broker that no longer reads the connection (an alarm of memory or disk).
 */
import { withTimeout } from '../../util/with-timeout.js'
import type { AmqpChannel, AmqpConnection } from './client.js'

/** ms that the other end has to answer. This, a node's wait for confirms and the end of its drain fit into the 5 s beyond the grace of docs/deploying.md. */
const CLOSE_TIMEOUT = 1_500

/** Connections on which an answer is overdue: whoever closes more of them does not wait again. */
const silent = new WeakSet<object>()

/** False: not in time. */
const answered = (closed: Promise<void>): Promise<boolean> =>
  withTimeout(
    closed.then(() => true),
    CLOSE_TIMEOUT,
    () => false,
  )

/** Resolves when the channel is closed, whoever closed it, or the answer is overdue. Rejects when it was closed before. */
export const closeChannel = async (channel: AmqpChannel): Promise<void> => {
  const { connection } = channel
  const closed = new Promise<void>((resolve, reject) => {
    channel.on('close', resolve)
    channel.close().then(resolve, reject)
  })
  if (!silent.has(connection) && (await answered(closed))) return
  silent.add(connection)
  // It was slow, no more than that.
  closed.then(
    () => silent.delete(connection),
    () => {},
  )
}

/** Closes in order what can be, and leaves no socket. */
export const closeConnection = async (connection: AmqpConnection): Promise<void> => {
  const { connection: own } = connection
  const closed = new Promise<void>((resolve) => {
    connection.on('close', resolve)
    connection.close().then(resolve, () => resolve())
  })
  if (!silent.has(own)) await answered(closed)
  // With an error, or amqplib does not see it, and goes on beating.
  own.stream?.destroy(new Error('The other end did not answer the close.'))
}
