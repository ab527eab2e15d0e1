/** A TCP proxy between clients and the broker, which injects faults. */
import { connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  readonly url: string
  /** Cuts every connection. */
  cut(): void
  /** Withholds the bytes of the broker, and passes on those of the clients, until `cut` or `flow`. */
  muteBroker(): void
  flow(): void
  /** Passes on nothing in either direction, for present and later connections, and keeps the sockets open: as with a peer that is gone. Until `cut`. */
  freeze(): void
  /** As `freeze`, for present connections only. */
  freezePresent(): void
  /** New connections are refused until `open`. */
  shut(): void
  open(): void
  /** Awaits `run` each time before it passes on this AMQP method of a client; `nth` counts from 1. */
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
  const pauseAll = (): void => {
    for (const pair of pairs) for (const socket of pair) socket.pause()
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
      pauseAll()
    },
    freezePresent: pauseAll,
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
