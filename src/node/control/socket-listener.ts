import type { Socket } from 'node:net'
import { readEvents } from '../../runtime/report/messages.js'
import type { FarmEvent } from '../../runtime/report/report.js'
import { clearInterval, setInterval } from '../../util/node-time.js'
import { deferred, withTimeout } from '../../util/with-timeout.js'
import { isDead, LISTEN_REQUEST, openConnection } from './socket-connection.js'
import type { SocketFile, SocketFolder } from './socket-folder.js'

/** ms between two looks for nodes that are new. */
const LOOK_INTERVAL = 1_000
/** ms that nodes have for their first line. */
const FIRST_LINE_TIMEOUT = 1_000

/** The first line: the name of the node, or why it refuses to be listened to. Undefined: it comes from no node. */
const readGreeting = (line: string): { node: string } | { error: Error } | undefined => {
  try {
    const { node, error } = JSON.parse(line) as { node?: unknown; error?: unknown }
    if (typeof error === 'string') return { error: new Error(error.replace(/\.$/, '')) }
    return typeof node === 'string' ? { node } : undefined
  } catch {
    return undefined
  }
}

/** Listens to all nodes of a folder, also to those that come later. */
export class SocketListener {
  readonly #folder: SocketFolder
  readonly #receive: (event: FarmEvent) => void
  /** By entry of the folder. */
  readonly #connections = new Map<string, Socket>()
  /** By entry, the names of nodes whose connection was lost. The `node.down` of one that turns out to be dead comes from here. */
  readonly #lost = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(folder: SocketFolder, receive: (event: FarmEvent) => void) {
    this.#folder = folder
    this.#receive = receive
  }

  /** Resolves when every node that is there sends its events. Rejects when the nodes cannot be looked for, or none of them can be asked. */
  async start(): Promise<void> {
    const connected = await this.#look()
    if (this.#isStopped) return
    this.#timer = setInterval(() => this.#look().catch(() => {}), LOOK_INTERVAL)
    const greeted = await withTimeout(Promise.all(connected), FIRST_LINE_TIMEOUT, () => [])
    const refusals = greeted.filter((error) => error !== undefined && !isDead(error))
    if (refusals.length > 0 && refusals.length === greeted.length) throw refusals[0]
  }

  stop(): void {
    this.#isStopped = true
    clearInterval(this.#timer)
    for (const socket of this.#connections.values()) socket.destroy()
  }

  async #look(): Promise<Promise<NodeJS.ErrnoException | undefined>[]> {
    const found = await this.#folder.find()
    return this.#isStopped ? [] : found.filter(({ entry }) => !this.#connections.has(entry)).map((file) => this.#connect(file))
  }

  /** Resolves when the node sends its events, or with why it does not. */
  #connect(file: SocketFile): Promise<NodeJS.ErrnoException | undefined> {
    const { promise, resolve } = deferred<NodeJS.ErrnoException | undefined>()
    let node: string | undefined
    let isDown = false
    let hasEvents = false
    const line = (text: string): void => {
      if (node === undefined) {
        const greeting = readGreeting(text)
        if (greeting !== undefined && 'node' in greeting) node = greeting.node
        else socket.destroy()
        resolve(greeting !== undefined && 'error' in greeting ? greeting.error : undefined)
        return
      }
      hasEvents = true
      for (const event of readEvents(Buffer.from(text))) {
        isDown ||= event.type === 'node.down'
        if (!this.#isStopped) this.#receive(event)
      }
    }
    const closed = (error: NodeJS.ErrnoException | undefined): void => {
      this.#connections.delete(file.entry)
      resolve(error)
      if (this.#isStopped) return
      if (error !== undefined && isDead(error)) this.#died(file)
      else if (isDown) this.#lost.delete(file.entry)
      else if (node !== undefined) {
        this.#lost.set(file.entry, node)
        // The node is dead, or has disconnected a listener that was too slow: a new connection shows which. A node that ends each connection before its first
        // event waits for the next look.
        if (hasEvents) void this.#connect(file)
      }
    }
    const socket = openConnection(file.path, LISTEN_REQUEST, { line, closed })
    this.#connections.set(file.entry, socket)
    return promise
  }

  #died(file: SocketFile): void {
    void this.#folder.remove(file)
    const node = this.#lost.get(file.entry)
    this.#lost.delete(file.entry)
    if (node !== undefined) this.#receive({ type: 'node.down', node, at: Date.now(), reason: 'its process has died' })
  }
}
