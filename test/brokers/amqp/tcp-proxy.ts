/** Stands between a client and the broker, and cuts. */
import { connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  readonly url: string
  /** Cuts every connection. */
  cut(): void
  /** What the broker says is withheld, and what the client says is passed on, until `cut` or `flow`. */
  muteBroker(): void
  flow(): void
  /** New connections are refused until `open`. */
  shut(): void
  open(): void
  close(): Promise<void>
}

export const tcpProxy = async (target: string): Promise<TcpProxy> => {
  const { hostname, port, username, password, pathname } = new URL(target)
  const pairs = new Set<[client: Socket, broker: Socket]>()
  let muted = false
  let refusing = false
  const server = createServer((client) => {
    if (refusing) {
      client.destroy()
      return
    }
    const broker = connect(Number(port), hostname)
    const pair: [Socket, Socket] = [client, broker]
    pairs.add(pair)
    const end = (): void => {
      pairs.delete(pair)
      client.destroy()
      broker.destroy()
    }
    for (const socket of pair) {
      socket.on('error', end)
      socket.on('close', end)
    }
    client.pipe(broker)
    broker.on('data', (chunk) => client.write(chunk))
    if (muted) broker.pause()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address() as { port: number }
  const cut = (): void => {
    for (const [client, broker] of pairs) {
      client.destroy()
      broker.destroy()
    }
  }
  return {
    url: `amqp://${username}:${password}@127.0.0.1:${address.port}${pathname}`,
    cut: () => {
      muted = false
      cut()
    },
    muteBroker: () => {
      muted = true
      for (const [, broker] of pairs) broker.pause()
    },
    flow: () => {
      muted = false
      for (const [, broker] of pairs) broker.resume()
    },
    shut: () => {
      refusing = true
      cut()
    },
    open: () => {
      refusing = false
    },
    close: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
