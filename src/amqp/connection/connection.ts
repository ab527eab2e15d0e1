/** One connection that comes back. */
import { EventEmitter } from 'node:events'
import type { BrokerError } from '../errors.js'
import { ReconnectBackoff } from './backoff.js'
import { type AmqpConnection, loadClient } from './client.js'
import { closeConnection } from './closing.js'
import { type Endpoint, withHeartbeat } from './endpoint.js'
import { lastingRefusal } from './refusals.js'

/** ms for a connection to be made, handshake included. */
const CONNECT_TIMEOUT = 10_000

export interface ConnectionEvents {
  up: [connection: AmqpConnection]
  /** It was up and is not any more. */
  down: [reason: Error]
  /** An attempt failed; another follows in `wait` ms. */
  retry: [error: Error, wait: number]
  /** The broker takes no publications for now (an alarm of memory or disk), or takes them again. */
  blocked: [reason: string]
  unblocked: []
}

export class SteadyConnection extends EventEmitter<ConnectionEvents> {
  readonly #endpoint: Endpoint
  readonly #name: string
  readonly #backoff = new ReconnectBackoff()
  #current: AmqpConnection | undefined
  #connecting = false
  #closed = false
  #wasUp = false
  #timer: NodeJS.Timeout | undefined
  #trouble: Error | undefined
  #fatal: ((error: BrokerError) => void) | undefined

  /** `name`: what the broker's list of connections shows. */
  constructor(endpoint: Endpoint, name: string) {
    super()
    this.setMaxListeners(0)
    this.#endpoint = endpoint
    this.#name = name
  }

  get current(): AmqpConnection | undefined {
    return this.#current
  }

  /** What ended the latest connection, as its channels may ask when they are closed with it. */
  get trouble(): Error | undefined {
    return this.#trouble
  }

  /** Resolves when it is up for the first time; rejects with BrokerError for what does not pass, or when it is closed before. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#fatal = reject
      this.once('up', () => {
        this.#fatal = undefined
        resolve()
      })
      void this.#connect()
    })
  }

  async #connect(): Promise<void> {
    if (this.#closed || this.#connecting) return
    this.#connecting = true
    try {
      const client = await loadClient()
      const connection = await client.connect(withHeartbeat(this.#endpoint.url), {
        ...this.#endpoint.tls,
        timeout: CONNECT_TIMEOUT,
        noDelay: true,
        keepAlive: true,
        clientProperties: { connection_name: this.#name, product: 'prefork' },
      })
      this.#connecting = false
      this.#adopt(connection)
    } catch (error) {
      this.#connecting = false
      this.#failed(error)
    }
  }

  #adopt(connection: AmqpConnection): void {
    let reason = new Error('The connection was closed.')
    // An error is always followed by a close.
    connection.on('error', (error: Error) => {
      reason = error
      if (this.#current === connection) this.#trouble = error
    })
    connection.on('close', (error?: Error) => this.#lost(connection, error ?? reason))
    if (this.#closed) {
      void closeConnection(connection)
      return
    }
    connection.on('blocked', (why: string) => this.emit('blocked', why))
    connection.on('unblocked', () => this.emit('unblocked'))
    this.#current = connection
    this.#trouble = undefined
    this.#wasUp = true
    this.#backoff.opened()
    this.emit('up', connection)
  }

  #lost(connection: AmqpConnection, reason: Error): void {
    // A peer that is gone for good would keep half a socket, and with it this process.
    connection.connection.stream?.destroy()
    if (this.#current !== connection) return
    this.#current = undefined
    this.emit('down', reason)
    this.#again(reason)
  }

  #failed(error: unknown): void {
    if (this.#closed) return
    const lasting = lastingRefusal(this.#endpoint.url, error) ?? missing(error)
    if (lasting !== undefined && !this.#wasUp) {
      this.#closed = true
      this.#fatal?.(lasting as BrokerError)
      return
    }
    this.#again(lasting ?? (error instanceof Error ? error : new Error(String(error))))
  }

  #again(error: Error): void {
    if (this.#closed) return
    const wait = this.#backoff.next()
    this.emit('retry', error, wait)
    this.#timer = setTimeout(() => void this.#connect(), wait)
  }

  /** Sends what has been written and closes; it does not come back. */
  async close(error: BrokerError): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#fatal?.(error)
    const connection = this.#current
    this.#current = undefined
    if (connection !== undefined) await closeConnection(connection)
  }
}

const missing = (error: unknown): Error | undefined => ((error as { code?: unknown }).code === 'ERR_PREFORK_AMQPLIB_MISSING' ? (error as Error) : undefined)
