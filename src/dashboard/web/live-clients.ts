import type { ServerResponse } from 'node:http'
import { performance } from 'node:perf_hooks'
import { clearInterval, setInterval } from '../../util/node-time.js'

/** Streams at once. Each browser tab has one. */
export const MAX_CLIENTS = 16
/** ms between two states. */
const INTERVAL = 500
/** ms after which a client that reads nothing is disconnected. */
const MAX_BLOCKED = 30_000

/** What a stream sends. */
export interface LiveView {
  /** The state as one line of JSON. */
  state(): string
  /** The history as one line of JSON, if it is newer than that with the number `after`. */
  history(after: number | undefined): { readonly number: number; readonly json: string } | undefined
}

interface Client {
  readonly response: ServerResponse
  readonly view: LiveView
  /** The history that was sent last. */
  history: number | undefined
  /** When the response last took no more, ms; undefined: it takes more. */
  blockedSince: number | undefined
}

/** The open streams of server-sent events. Nothing is computed while there is none. */
export class LiveClients {
  readonly #clients = new Set<Client>()
  #timer: NodeJS.Timeout | undefined

  get full(): boolean {
    return this.#clients.size >= MAX_CLIENTS
  }

  get size(): number {
    return this.#clients.size
  }

  /** `response`: its headers are written. */
  add(response: ServerResponse, view: LiveView): void {
    const client: Client = { response, view, history: undefined, blockedSince: undefined }
    this.#clients.add(client)
    response.once('close', () => {
      this.#clients.delete(client)
      if (this.#clients.size === 0) clearInterval(this.#timer)
    })
    if (this.#clients.size === 1) this.#timer = setInterval(() => this.#sendAll(), INTERVAL)
    this.#send(client)
  }

  close(): void {
    for (const { response } of this.#clients) response.end()
  }

  #sendAll(): void {
    for (const client of this.#clients) this.#send(client)
  }

  #send(client: Client): void {
    const { response, view } = client
    if (response.destroyed || response.writableEnded) return
    // A slow client gets a newer state later, and never a second one into its buffer.
    if (response.writableNeedDrain) {
      const now = performance.now()
      client.blockedSince ??= now
      if (now - client.blockedSince > MAX_BLOCKED) response.destroy()
      return
    }
    client.blockedSince = undefined
    const history = view.history(client.history)
    if (history !== undefined) {
      client.history = history.number
      write(response, 'history', history.json)
    }
    write(response, 'state', view.state())
  }
}

/** `json`: has no line break. */
const write = (response: ServerResponse, event: string, json: string): void => void response.write(`event: ${event}\ndata: ${json}\n\n`)
