import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CommandError, EXIT } from '../exit.js'

export interface Listening {
  readonly port: number
  /** Ends every connection, open streams too. */
  close(): Promise<void>
}

/** Starts an HTTP server. Rejects with CommandError when it cannot listen on the port. `onError`: gets what goes wrong later. */
export const listen = async (at: { port: number; host: string }, handle: RequestListener, onError: (error: Error) => void): Promise<Listening> => {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000, keepAliveTimeout: 5_000, maxHeaderSize: 8_192 }, handle)
  server.maxConnections = 128
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new CommandError(refusal(at, error), UNUSABLE.has(error.code ?? '') ? EXIT.usage : EXIT.failed, { cause: error })),
    )
    server.listen(at.port, at.host, resolve)
  })
  server.on('error', onError)
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A host that does not exist or is not this machine: a retry cannot help. A port that is in use may become free. */
const UNUSABLE = new Set(['ENOTFOUND', 'EADDRNOTAVAIL', 'EINVAL'])

const refusal = ({ port, host }: { port: number; host: string }, error: NodeJS.ErrnoException): string => {
  if (UNUSABLE.has(error.code ?? '')) return `--http-host must be a host name or an address of this machine; it was given '${host}' (${error.message}).`
  const reason =
    error.code === 'EADDRINUSE'
      ? 'something else listens there; choose another port'
      : error.code === 'EACCES'
        ? 'a port below 1024 needs rights that this user lacks; choose another'
        : error.message
  return `--http ${port}: cannot listen on ${host}: ${reason}.`
}
