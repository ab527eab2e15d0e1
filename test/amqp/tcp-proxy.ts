/** Stands between a client and the broker, and cuts. */
import { connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  readonly url: string
  /** Cuts every connection. */
  cut(): void
  /** What the broker says is withheld, and what the client says is passed on, until `cut` or `flow`. */
  muteBroker(): void
  flow(): void
  /** Nothing is passed on either way, and the sockets stay open, those of later connections too: the peer is gone, and nobody tells. Until `cut`. */
  freeze(): void
  /** New connections are refused until `open`. */
  shut(): void
  open(): void
  /** Each time that a client sends this method of AMQP, `run` is done before it is passed on; `nth` counts from 1. */
  before(classId: number, methodId: number, run: (nth: number) => void | Promise<void>): void
  close(): Promise<void>
}

export const tcpProxy = async (target: string): Promise<TcpProxy> => {
  const { hostname, port, username, password, pathname } = new URL(target)
  const pairs = new Set<[client: Socket, broker: Socket]>()
  let muted = false
  let refusing = false
  let frozen = false
  let watched: { method: Buffer; run: (nth: number) => void | Promise<void>; seen: number } | undefined
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
    client.on('end', () => broker.end())
    client.on('data', async (chunk) => {
      if (watched !== undefined && chunk.includes(watched.method)) {
        client.pause()
        await watched.run(++watched.seen)
        client.resume()
      }
      broker.write(chunk)
    })
    broker.on('data', (chunk) => client.write(chunk))
    if (muted || frozen) broker.pause()
    if (frozen) client.pause()
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
      muted = frozen = false
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
    freeze: () => {
      frozen = true
      for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    shut: () => {
      refusing = true
      cut()
    },
    open: () => {
      refusing = false
    },
    before: (classId, methodId, run) => {
      watched = { method: Buffer.from([classId >> 8, classId & 255, methodId >> 8, methodId & 255]), run, seen: 0 }
    },
    close: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
