/** The first connection of somebody who asked for it and waits: it comes within bounds, or is an error. */
import { withTimeout } from '../../util/with-timeout.js'
import type { SteadyConnection } from './connection.js'
import { unreached } from './refusals.js'

/**
 * Starts the connection and runs `setUp`, `timeout` ms for both. Rejects with BrokerError when the time is over, and with what
 * either of them met that does not pass; to close is the caller's.
 */
export const firstConnection = async (
  connection: SteadyConnection,
  { url, connectTimeout }: { readonly url: string; readonly connectTimeout: number },
  setUp: () => Promise<void>,
): Promise<void> => {
  let last: Error | undefined
  const noted = (error: Error): void => {
    last = error
  }
  connection.on('retry', noted)
  const connected = async (): Promise<void> => {
    await connection.start()
    await setUp()
  }
  try {
    await withTimeout(connected(), connectTimeout, () => {
      throw unreached(url, connectTimeout, last)
    })
  } finally {
    connection.off('retry', noted)
  }
}
