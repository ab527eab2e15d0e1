/** Short calls (declare, count, purge) on a channel of their own: one that the broker answers with an error costs nobody else's channel. */
import { BrokerError } from '../errors.js'
import { SteadyChannel } from './channel.js'
import type { AmqpChannel } from './client.js'
import type { SteadyConnection } from './connection.js'

export class Errands {
  readonly #steady: SteadyChannel
  #waiting: { resolve(channel: AmqpChannel): void; reject(error: Error): void }[] = []
  #closed = false

  constructor(connection: SteadyConnection) {
    this.#steady = new SteadyChannel(connection, {
      confirm: false,
      setup: async () => {},
      opened: (channel) => {
        const waiting = this.#waiting
        this.#waiting = []
        for (const each of waiting) each.resolve(channel)
      },
    })
  }

  /** Runs `errand` on a channel that is open, once there is one. Rejects with what the broker answers; not run again when the channel dies meanwhile. */
  async run<T>(errand: (channel: AmqpChannel) => Promise<T>): Promise<T> {
    return errand(await this.#open())
  }

  /** Rejects at once when there is no channel just now. */
  async runNow<T>(errand: (channel: AmqpChannel) => Promise<T>): Promise<T> {
    const { channel } = this.#steady
    if (channel === undefined) throw new BrokerError('RabbitMQ cannot be asked just now: there is no connection.')
    return errand(channel)
  }

  #open(): Promise<AmqpChannel> {
    const { channel } = this.#steady
    if (channel !== undefined) return Promise.resolve(channel)
    if (this.#closed) return Promise.reject(closedError())
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const each of this.#waiting) each.reject(closedError())
    this.#waiting = []
    await this.#steady.close()
  }
}

const closedError = (): BrokerError => new BrokerError('The connection to RabbitMQ has been closed.')
