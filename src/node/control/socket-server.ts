import { createServer, type Socket } from 'node:net'
import type { Answer } from '../../runtime/report/commands.js'
import { type ControlMessage, readControlMessage, toJson } from '../../runtime/report/messages.js'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { deferred, withTimeout } from '../../util/with-timeout.js'
import { readLines } from './lines.js'
import { isListenRequest, MAX_REQUEST } from './socket-connection.js'
import type { SocketFile, SocketFolder } from './socket-folder.js'

const MAX_CONNECTIONS = 64
const MAX_LISTENERS = 16
/** ms that a connection has to send its request, and again to read the answer. */
const CONNECTION_TIMEOUT = 10_000
/** Bytes of answers and events, over all connections, that their readers have not taken. */
const MAX_UNREAD = 64 * 1_048_576
/** Bytes of events that one listener has not read: with more it is disconnected. */
const MAX_BACKLOG = 4 * 1_048_576
/** ms that readers have when the server closes. */
const CLOSE_TIMEOUT = 500

export interface SocketServerSettings {
  /** The name of the node. */
  readonly node: string
  /** Resolves with the answer; undefined: the command is for other nodes. */
  answer(message: ControlMessage): Promise<Answer | undefined>
  failed(error: Error): void
}

/**
 * The node's end of its control socket. A connection carries one request, a line of JSON: a command, which is answered by a line, or the request to
 * listen, after which each line has events. Whatever the other end does, it takes up a bounded amount of memory, and no time of others.
 */
export class SocketServer {
  readonly #settings: SocketServerSettings
  readonly #server = createServer((socket) => this.#accept(socket))
  /** With the timer that ends each. */
  readonly #connections = new Map<Socket, NodeJS.Timeout>()
  readonly #listeners = new Set<Socket>()

  constructor(settings: SocketServerSettings) {
    this.#settings = settings
    this.#server.maxConnections = MAX_CONNECTIONS
  }

  async listen(folder: SocketFolder): Promise<SocketFile> {
    const file = await folder.listen(this.#server)
    this.#server.on('error', (error) => this.#settings.failed(error))
    return file
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0
  }

  /** Sends a line to each listener. One that does not read is disconnected. */
  sendToListeners(line: string): void {
    for (const socket of this.#listeners) {
      if (socket.writableLength > MAX_BACKLOG) socket.destroy()
      else socket.write(line)
    }
  }

  async close(): Promise<void> {
    const closed = deferred()
    this.#server.close(() => closed.resolve())
    for (const socket of this.#connections.keys()) socket.end()
    await withTimeout(closed.promise, CLOSE_TIMEOUT, () => {})
    for (const socket of this.#connections.keys()) socket.destroy()
  }

  #accept(socket: Socket): void {
    this.#startTimer(socket)
    socket
      .on('error', () => socket.destroy())
      .on('close', () => {
        clearTimeout(this.#connections.get(socket))
        this.#connections.delete(socket)
        this.#listeners.delete(socket)
      })
    let hasRequest = false
    const receive = (line: string): void => {
      if (hasRequest) return
      hasRequest = true
      clearTimeout(this.#connections.get(socket))
      this.#handle(socket, line).catch((error: unknown) => this.#refuse(socket, `The request has failed: ${(error as Error).message}`))
    }
    const refuse = (): void => {
      hasRequest = true
      this.#refuse(socket, `A request has at most ${MAX_REQUEST} bytes.`)
    }
    readLines(socket, MAX_REQUEST, receive, refuse)
    // What follows a request is read, so that the end is seen, and dropped. One byte more is the end of its line.
    socket.on('data', () => {
      if (hasRequest && socket.bytesRead > MAX_REQUEST + 1) socket.destroy()
    })
  }

  #startTimer(socket: Socket): void {
    this.#connections.set(
      socket,
      setTimeout(() => socket.destroy(), CONNECTION_TIMEOUT),
    )
  }

  async #handle(socket: Socket, line: string): Promise<void> {
    if (isListenRequest(line)) {
      this.#listen(socket)
      return
    }
    const message = readControlMessage(Buffer.from(line))
    if (message === undefined) {
      this.#refuse(socket, `This is no request. A command is a line such as {"to":"all","command":{"command":"ping"}}.`)
      return
    }
    const answer = await this.#settings.answer(message)
    if (answer === undefined) socket.end()
    else this.#end(socket, answer)
  }

  #listen(socket: Socket): void {
    if (this.#listeners.size >= MAX_LISTENERS) {
      this.#refuse(socket, `The node has ${MAX_LISTENERS} listeners already.`)
      return
    }
    socket.write(`${JSON.stringify({ node: this.#settings.node })}\n`)
    this.#listeners.add(socket)
  }

  #refuse(socket: Socket, error: string): void {
    this.#end(socket, { node: this.#settings.node, ok: false, error })
  }

  #end(socket: Socket, answer: Answer): void {
    if (socket.destroyed) return
    clearTimeout(this.#connections.get(socket))
    this.#startTimer(socket)
    const body = toJson(answer)
    if (this.#unread + body.length <= MAX_UNREAD) socket.write(body)
    else socket.write(toJson({ node: this.#settings.node, ok: false, error: 'The answer is too large, beside those that others do not read: try again.' }))
    socket.end('\n')
  }

  get #unread(): number {
    let bytes = 0
    for (const socket of this.#connections.keys()) bytes += socket.writableLength
    return bytes
  }
}
