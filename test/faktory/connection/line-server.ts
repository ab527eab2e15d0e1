/** A server of a few lines for one test: it greets as it is told, and answers each line of a client with what `answer` returns. */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { onTestFinished } from 'vitest'

export interface LineServer {
  readonly url: string
  readonly port: number
  /** What clients have written, one line each. */
  readonly lines: string[]
  readonly sockets: Set<Socket>
  cut(): void
}

export interface LineServerOptions {
  /** The first line; undefined: none. */
  readonly greeting?: string | undefined
  /** Undefined: no answer. */
  readonly answer?: (line: string, socket: Socket) => string | undefined
  readonly tls?: TlsOptions
  readonly host?: string
}

const ok = (): string => '+OK\r\n'

export const lineServer = async ({ greeting = '+HI {"v":2}\r\n', answer = ok, tls, host = '127.0.0.1' }: LineServerOptions = {}): Promise<LineServer> => {
  const lines: string[] = []
  const sockets = new Set<Socket>()
  const serve = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    if (greeting !== '') socket.write(greeting)
    let rest = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      const parts = `${rest}${text}`.split('\r\n')
      rest = parts.pop()!
      for (const line of parts) {
        lines.push(line)
        if (line === 'END') socket.end()
        else {
          const reply = answer(line, socket)
          if (reply !== undefined) socket.write(reply)
        }
      }
    })
  }
  const server: Server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve)
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as { port: number }
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(async () => {
    cut()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `tcp${tls === undefined ? '' : '+tls'}://${host.includes(':') ? `[${host}]` : host}:${port}`, port, lines, sockets, cut }
}
