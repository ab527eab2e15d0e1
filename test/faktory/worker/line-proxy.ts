/** A proxy between a client and a Faktory server: it shows the lines of the clients and injects faults. */
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface LineProxy {
  readonly url: string
  /** What the clients have written, one line each. */
  readonly lines: string[]
  /** The same by connection, in the order of their first lines. */
  readonly conversations: string[][]
  /** Refuses the connections from the nth on, counted from now; undefined: none. */
  refuseFrom(nth: number | undefined): void
  /** Cuts every connection; with a verb, only those on which that verb was the last line. */
  cut(verb?: string): void
  /** New connections are refused, and the present ones cut, until `open`. */
  shut(): void
  open(): void
  /** Passes on no answers, and keeps the sockets open, until `flow`. */
  mute(): void
  flow(): void
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
  readonly lines: string[]
}

export const lineProxy = async (target: string): Promise<LineProxy> => {
  const { hostname, port, password } = new URL(target)
  const pairs = new Set<Pair>()
  const lines: string[] = []
  const conversations: string[][] = []
  let isShut = false
  let room = Number.POSITIVE_INFINITY
  let isMute = false
  const listener = createServer((client) => {
    if (isShut || --room < 0) {
      client.destroy()
      return
    }
    const server = connect(Number(port), hostname.replace(/^\[|\]$/g, ''))
    const pair: Pair = { client, server, lines: [] }
    pairs.add(pair)
    const end = (): void => {
      pairs.delete(pair)
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) socket.on('error', end).on('close', end)
    let rest = ''
    client.on('data', (chunk) => {
      const parts = `${rest}${chunk.toString('utf8')}`.split('\r\n')
      rest = parts.pop()!
      for (const line of parts) {
        lines.push(line)
        if (pair.lines.push(line) === 1) conversations.push(pair.lines)
      }
      server.write(chunk)
    })
    server.on('data', (chunk) => client.write(chunk))
    if (isMute) server.pause()
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const cut = (verb?: string): void => {
    for (const { client, server, lines: own } of pairs) {
      if (verb !== undefined && own.at(-1)?.startsWith(`${verb} `) !== true) continue
      client.destroy()
      server.destroy()
    }
  }
  onTestFinished(async () => {
    cut()
    await new Promise((resolve) => listener.close(resolve))
  })
  return {
    url: `tcp://${password === '' ? '' : `:${password}@`}127.0.0.1:${(listener.address() as { port: number }).port}`,
    lines,
    conversations,
    refuseFrom: (nth) => {
      room = nth ?? Number.POSITIVE_INFINITY
    },
    cut,
    shut: () => {
      isShut = true
      cut()
    },
    open: () => {
      isShut = false
    },
    mute: () => {
      isMute = true
      for (const { server } of pairs) server.pause()
    },
    flow: () => {
      isMute = false
      for (const { server } of pairs) server.resume()
    },
  }
}
