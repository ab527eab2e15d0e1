import { BrokerError } from '../errors.js'
import type { AmqpChannel } from './client.js'
import { ReconnectingChannel } from './reconnecting-channel.js'
import type { ReconnectingConnection } from './reconnecting-connection.js'

interface AdminRequest {
  run(channel: AmqpChannel): Promise<unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** A channel for short requests (declare, count), one at a time. An error reply of the broker closes the channel, so it carries nothing else. */
export class AdminChannel {
  readonly #reconnecting: ReconnectingChannel
  readonly #waiting: AdminRequest[] = []
  #running = false
  #closed = false

  constructor(connection: ReconnectingConnection) {
    this.#reconnecting = new ReconnectingChannel(connection, { confirm: false, setup: async () => {}, opened: () => void this.#work() })
  }

  /** Calls `request` when a channel is open, and again when the connection is lost meanwhile: it must be idempotent. Rejects with the broker's error. */
  run<T>(request: (channel: AmqpChannel) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closedError())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ run: request, resolve: resolve as (value: unknown) => void, reject })
      void this.#work()
    })
  }

  /** As `run`, but rejects with BrokerError when no channel is open. */
  runNow<T>(request: (channel: AmqpChannel) => Promise<T>): Promise<T> {
    if (this.#reconnecting.channel === undefined) return Promise.reject(new BrokerError('RabbitMQ cannot be asked just now: there is no connection.'))
    return this.run(request)
  }

  async #work(): Promise<void> {
    if (this.#running) return
    this.#running = true
    for (let channel = this.#reconnecting.channel; channel !== undefined && this.#waiting.length > 0; channel = this.#reconnecting.channel) {
      const request = this.#waiting[0]!
      try {
        const value = await request.run(channel)
        request.resolve(value)
      } catch (error) {
        // Not an error reply: the channel was lost with its connection. The next channel tries again.
        if (!this.#closed && this.#reconnecting.channel !== channel && !isErrorReply(error)) continue
        request.reject(error)
      }
      if (this.#waiting[0] === request) this.#waiting.shift()
    }
    this.#running = false
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const request of this.#waiting.splice(0)) request.reject(closedError())
    await this.#reconnecting.close()
  }
}

const isErrorReply = (error: unknown): boolean => error instanceof BrokerError || typeof (error as { code?: unknown }).code === 'number'

const closedError = (): BrokerError => new BrokerError('The connection to RabbitMQ has been closed.')
