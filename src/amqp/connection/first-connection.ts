/** The first connection of somebody who asked for it and waits: it comes within bounds, or is an error. */
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
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(unreached(url, connectTimeout, last)), connectTimeout)
  })
  const connected = async (): Promise<void> => {
    await connection.start()
    await setUp()
  }
  try {
    await Promise.race([connected(), late])
  } finally {
    clearTimeout(timer)
    connection.off('retry', noted)
  }
}
