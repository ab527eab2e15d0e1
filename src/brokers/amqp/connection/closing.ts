/** Ends of channels and connections. amqplib's own promises stay pending for ever when the connection is lost under a close. */
import type { AmqpChannel, AmqpConnection } from './client.js'

/** ms that a connection may take to be closed in order. */
const CLOSE_TIMEOUT = 2_000

/** Resolves when the channel is closed, whoever closed it. Rejects when it was closed before. */
export const closeChannel = (channel: AmqpChannel): Promise<void> =>
  new Promise((resolve, reject) => {
    channel.on('close', resolve)
    channel.close().then(resolve, reject)
  })

/** Closes in order what can be, and leaves no socket. */
export const closeConnection = async (connection: AmqpConnection): Promise<void> => {
  const lost = new Promise<void>((resolve) => connection.on('close', resolve))
  const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_TIMEOUT).unref())
  await Promise.race([connection.close().catch(() => {}), lost, late])
  connection.connection.stream?.destroy()
}
