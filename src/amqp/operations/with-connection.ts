import { withoutPassword } from '../../util/redact.js'
import { closeConnection } from '../connection/bounded-close.js'
import { type AmqpConnection, loadClient } from '../connection/client.js'
import { permanentError } from '../connection/connect-errors.js'
import { type Endpoint, withHeartbeat } from '../connection/endpoint.js'
import { BrokerError } from '../errors.js'

const CONNECT_TIMEOUT = 10_000

/** Connects, runs `operation` and closes. Rejects with BrokerError when RabbitMQ cannot be reached: it does not try again, as a node does. */
export const withConnection = async <T>({ url, tls }: Endpoint, operation: (connection: AmqpConnection) => Promise<T>): Promise<T> => {
  const client = await loadClient()
  let connection: AmqpConnection
  try {
    connection = await client.connect(withHeartbeat(url), {
      ...tls,
      timeout: CONNECT_TIMEOUT,
      noDelay: true,
      keepAlive: true,
      clientProperties: { connection_name: `prefork operator ${process.pid}`, product: 'prefork' },
    })
  } catch (cause) {
    throw (
      permanentError(url, cause) ??
      new BrokerError(`RabbitMQ at ${withoutPassword(url)} cannot be reached: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`, {
        cause,
      })
    )
  }
  // The call that fails rejects. Without a listener the error would be an uncaught exception as well.
  connection.on('error', () => {})
  try {
    return await operation(connection)
  } finally {
    await closeConnection(connection)
  }
}
