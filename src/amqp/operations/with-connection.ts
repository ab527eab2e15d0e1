/** A connection for one errand of an operator's: it fails at once where a node would keep trying. */
import { withoutPassword } from '../../util/redact.js'
import { type AmqpConnection, loadClient } from '../connection/client.js'
import { closeConnection } from '../connection/closing.js'
import { type Endpoint, withHeartbeat } from '../connection/endpoint.js'
import { lastingRefusal } from '../connection/refusals.js'
import { BrokerError } from '../errors.js'

const CONNECT_TIMEOUT = 10_000

/** Connects, runs `errand` and closes. Rejects with BrokerError when RabbitMQ cannot be reached. */
export const withConnection = async <T>({ url, tls }: Endpoint, errand: (connection: AmqpConnection) => Promise<T>): Promise<T> => {
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
      lastingRefusal(url, cause) ??
      new BrokerError(`RabbitMQ at ${withoutPassword(url)} cannot be reached: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`, {
        cause,
      })
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
