/**
 * Closes channels and connections within a time limit. amqplib itself waits for the broker's reply without one: a peer that is gone
 * never replies, and neither does a broker that no longer reads the connection (an alarm of memory or disk).
 */
import { withTimeout } from '../../util/with-timeout.js'
import type { AmqpChannel, AmqpConnection } from './client.js'

/** ms that the broker has to reply. This, a node's wait for confirms and the end of its drain fit into the 5 s beyond the grace of docs/deploying.md. */
const CLOSE_TIMEOUT = 1_500

/** Connections on which a reply is overdue: a further close on them does not wait again. */
const unresponsive = new WeakSet<object>()

/** False: the close was not answered in time. */
const closedInTime = (closed: Promise<void>): Promise<boolean> =>
  withTimeout(
    closed.then(() => true),
    CLOSE_TIMEOUT,
    () => false,
  )

/** Resolves when the channel is closed by either side, or the reply is overdue. Rejects when it was closed before. */
export const closeChannel = async (channel: AmqpChannel): Promise<void> => {
  const { connection } = channel
  const closed = new Promise<void>((resolve, reject) => {
    channel.on('close', resolve)
    channel.close().then(resolve, reject)
  })
  if (!unresponsive.has(connection) && (await closedInTime(closed))) return
  unresponsive.add(connection)
  // A late reply proves that the peer is alive.
  closed.then(
    () => unresponsive.delete(connection),
    () => {},
  )
}

/** Closes the connection, and destroys its socket when the reply is overdue. */
export const closeConnection = async (connection: AmqpConnection): Promise<void> => {
  const { connection: internal } = connection
  const closed = new Promise<void>((resolve) => {
    connection.on('close', resolve)
    connection.close().then(resolve, () => resolve())
  })
  if (!unresponsive.has(internal)) await closedInTime(closed)
  // Destroyed with an error: without it, amqplib does not notice and goes on sending heartbeats.
  internal.stream?.destroy(new Error('The other end did not answer the close.'))
}
