/** TLS in front of RabbitMQ, as with its `fail_if_no_peer_cert`: accepts only clients with a certificate of the authority. */
import { connect, type Socket } from 'node:net'
import { createServer } from 'node:tls'
import type { Certificates } from '../fixtures/certificates.js'

export interface TlsListener {
  readonly port: number
  close(): Promise<void>
}

export const tlsListener = async (target: string, { read }: Certificates): Promise<TlsListener> => {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const options = { key: read('server.key'), cert: read('server.pem'), ca: read('ca.pem'), requestCert: true, rejectUnauthorized: true }
  const server = createServer(options, (client) => {
    const broker = connect(Number(port || 5672), hostname)
    for (const [socket, other] of [
      [client, broker],
      [broker, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
