import { EventEmitter } from 'node:events'
import { ReconnectBackoff } from '../../node/connection/reconnect-backoff.js'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { withTimeout } from '../../util/with-timeout.js'
import type { BrokerError } from '../errors.js'
import { closeConnection } from './bounded-close.js'
import { type AmqpConnection, connect, loadClient } from './client.js'
import { connectTimeoutError, permanentError } from './connect-errors.js'
import type { Endpoint } from './endpoint.js'

export interface ConnectionEvents {
  up: [connection: AmqpConnection]
  /** The connection was lost. */
  down: [reason: Error]
  /** An attempt failed, or the connection was lost. The next attempt follows in `wait` ms. */
  retry: [error: Error, wait: number]
  /** The broker accepts no publications because of an alarm (memory, disk), or accepts them again. */
  blocked: [reason: string]
  unblocked: []
}

/** A connection that is made again when it is lost, with backoff, until `close`. Channels are not restored: see ReconnectingChannel. */
export class ReconnectingConnection extends EventEmitter<ConnectionEvents> {
  readonly #endpoint: Endpoint
  readonly #name: string
  readonly #backoff = new ReconnectBackoff()
  #current: AmqpConnection | undefined
  #connecting = false
  #closed = false
  #connectedOnce = false
  #timer: NodeJS.Timeout | undefined
  #closeReason: Error | undefined
  /** Rejects `start` while it is pending. */
  #rejectStart: ((error: BrokerError) => void) | undefined

  /** `name`: as RabbitMQ's list of connections shows it. */
  constructor(endpoint: Endpoint, name: string) {
    super()
    this.setMaxListeners(0)
    this.#endpoint = endpoint
    this.#name = name
  }

  get current(): AmqpConnection | undefined {
    return this.#current
  }

  /** The error that closed the last connection. Its channels are closed with it, and are not given the reason by amqplib. */
  get closeReason(): Error | undefined {
    return this.#closeReason
  }

  /** Resolves with the first connection. Rejects with BrokerError for a permanent error, or with the error of `close`. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#rejectStart = reject
      this.once('up', () => {
        this.#rejectStart = undefined
        resolve()
      })
      void this.#connect()
    })
  }

  async #connect(): Promise<void> {
    if (this.#closed || this.#connecting) return
    this.#connecting = true
    try {
      const connection = await connect(await loadClient(), this.#endpoint, this.#name)
      this.#connecting = false
      this.#opened(connection)
    } catch (error) {
      this.#connecting = false
      this.#failed(error)
    }
  }

  #opened(connection: AmqpConnection): void {
    let reason = new Error('The connection was closed.')
    // amqplib emits `close` after each `error`.
    connection.on('error', (error: Error) => {
      reason = error
      if (this.#current === connection) this.#closeReason = error
    })
    connection.on('close', (error?: Error) => this.#lost(connection, error ?? reason))
    if (this.#closed) {
      void closeConnection(connection)
      return
    }
    connection.on('blocked', (alarm: string) => this.emit('blocked', alarm))
    connection.on('unblocked', () => this.emit('unblocked'))
    this.#current = connection
    this.#closeReason = undefined
    this.#connectedOnce = true
    this.#backoff.opened()
    this.emit('up', connection)
  }

  #lost(connection: AmqpConnection, reason: Error): void {
    // A socket half closed by a peer that is gone would keep this process alive.
    connection.connection.stream?.destroy()
    if (this.#current !== connection) return
    this.#current = undefined
    this.emit('down', reason)
    this.#connectLater(reason)
  }

  #failed(error: unknown): void {
    if (this.#closed) return
    const permanent = permanentError(this.#endpoint.url, error) ?? clientMissing(error)
    if (permanent !== undefined && !this.#connectedOnce) {
      this.#closed = true
      this.#rejectStart?.(permanent as BrokerError)
      return
    }
    this.#connectLater(permanent ?? (error instanceof Error ? error : new Error(String(error))))
  }

  #connectLater(error: Error): void {
    if (this.#closed) return
    const wait = this.#backoff.next()
    this.emit('retry', error, wait)
    this.#timer = setTimeout(() => void this.#connect(), wait)
  }

  /** Sends what has been written and closes, for good. `error` rejects a pending `start`. */
  async close(error: BrokerError): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#rejectStart?.(error)
    const connection = this.#current
    this.#current = undefined
    if (connection !== undefined) await closeConnection(connection)
  }
}

/** Starts the connection and runs `setUp` within `connectTimeout` ms, or rejects with BrokerError. The caller closes the connection. */
export const connectWithin = async (
  connection: ReconnectingConnection,
  { url, connectTimeout }: { readonly url: string; readonly connectTimeout: number },
  setUp: () => Promise<void>,
): Promise<void> => {
  let last: Error | undefined
  const keepLast = (error: Error): void => {
    last = error
  }
  connection.on('retry', keepLast)
  const connected = async (): Promise<void> => {
    await connection.start()
    await setUp()
  }
  try {
    await withTimeout(connected(), connectTimeout, () => {
      throw connectTimeoutError(url, connectTimeout, last)
    })
  } finally {
    connection.off('retry', keepLast)
  }
}

const clientMissing = (error: unknown): Error | undefined =>
  (error as { code?: unknown }).code === 'ERR_PREFORK_AMQPLIB_MISSING' ? (error as Error) : undefined
