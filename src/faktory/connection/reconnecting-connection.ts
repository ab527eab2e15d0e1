import { EventEmitter } from 'node:events'
import { BrokerError } from '../../node/connection/errors.js'
import { ReconnectBackoff } from '../../node/connection/reconnect-backoff.js'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { type ConnectionSettings, FaktoryConnection } from './connection.js'

export interface ReconnectingEvents {
  up: [connection: FaktoryConnection]
  /** The connection was lost. `unansweredSince`: as that of the connection. */
  down: [reason: Error, unansweredSince: number | undefined]
  /** An attempt failed, or the connection was lost. The next attempt follows in `wait` ms. */
  retry: [error: Error, wait: number]
}

export interface ReconnectingOptions {
  /** Tries again after every error, as others of its kind have connected. Default false: a permanent one ends it. */
  readonly retriesPermanentErrors?: boolean
  /** False: it is not to connect for now; `proceed` is called when that changes. Default always true. */
  mayConnect?(): boolean
}

/** A connection that is made again when it is lost, with backoff and jitter, until `close`. */
export class ReconnectingConnection extends EventEmitter<ReconnectingEvents> {
  readonly #settings: ConnectionSettings
  readonly #options: ReconnectingOptions
  readonly #backoff = new ReconnectBackoff()
  #current: FaktoryConnection | undefined
  #connecting = false
  /** It waits until it may connect. */
  #isHeld = false
  #closed = false
  #connectedOnce = false
  #timer: NodeJS.Timeout | undefined
  /** Rejects `start` while it is pending. */
  #rejectStart: ((error: BrokerError) => void) | undefined

  constructor(settings: ConnectionSettings, options: ReconnectingOptions = {}) {
    super()
    this.#options = options
    this.setMaxListeners(0)
    this.#settings = settings
  }

  /** The connection, while there is one. */
  get current(): FaktoryConnection | undefined {
    return this.#current?.isOpen === true ? this.#current : undefined
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
    if (this.#closed || this.#connecting || this.#current !== undefined) return
    this.#isHeld = this.#options.mayConnect?.() === false
    if (this.#isHeld) return
    this.#connecting = true
    try {
      const connection = await FaktoryConnection.open(this.#settings, this.#options.mayConnect)
      this.#connecting = false
      this.#opened(connection)
    } catch (error) {
      this.#connecting = false
      this.#failed(error as Error)
    }
  }

  /** It may connect again. */
  proceed(): void {
    if (this.#isHeld) void this.#connect()
  }

  #opened(connection: FaktoryConnection): void {
    if (this.#closed) {
      void connection.end()
      return
    }
    if (!connection.isOpen) {
      this.#connectLater(new Error('The connection was closed at once.'))
      return
    }
    connection.on('close', (error) => this.#lost(connection, error))
    this.#current = connection
    this.#connectedOnce = true
    this.#backoff.opened()
    this.emit('up', connection)
  }

  #lost(connection: FaktoryConnection, reason: Error): void {
    if (this.#current !== connection) return
    this.#current = undefined
    this.emit('down', reason, connection.unansweredSince)
    this.#connectLater(reason)
  }

  #failed(error: Error): void {
    if (this.#closed) return
    if (error instanceof BrokerError && !this.#connectedOnce && this.#options.retriesPermanentErrors !== true) {
      this.#closed = true
      this.#rejectStart?.(error)
      return
    }
    this.#connectLater(error)
  }

  #connectLater(error: Error): void {
    if (this.#closed) return
    const wait = this.#backoff.next()
    this.emit('retry', error, wait)
    this.#timer = setTimeout(() => void this.#connect(), wait)
  }

  /** Says HELLO on a new connection, and ends the present one when it is idle. */
  renew(reason = new Error('It is made anew.')): void {
    const before = this.#current
    if (before === undefined || this.#closed) return
    this.#lost(before, reason)
    void before.end()
  }

  /** Waits for the answers to what was sent, for `ms`, default 3,000, says END and closes, for good. `error` rejects a pending `start`. */
  async close(error: BrokerError, ms?: number): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#rejectStart?.(error)
    const connection = this.#current
    this.#current = undefined
    await connection?.end(ms)
  }
}
