/**
 * Short calls (declare, count) on a channel of their own, one after another: an error that the broker answers ends the channel, and
 * must not end the call of somebody else with it.
 */
import { BrokerError } from '../errors.js'
import { SteadyChannel } from './channel.js'
import type { AmqpChannel } from './client.js'
import type { SteadyConnection } from './connection.js'

interface AdminRequest {
  run(channel: AmqpChannel): Promise<unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
}

export class AdminChannel {
  readonly #steady: SteadyChannel
  readonly #waiting: AdminRequest[] = []
  #running = false
  #closed = false

  constructor(connection: SteadyConnection) {
    this.#steady = new SteadyChannel(connection, { confirm: false, setup: async () => {}, opened: () => void this.#work() })
  }

  /** Runs `errand` when there is a channel, and again when the connection is lost under it: it must do no harm twice. Rejects with what the broker answers. */
  run<T>(errand: (channel: AmqpChannel) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closedError())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ run: errand, resolve: resolve as (value: unknown) => void, reject })
      void this.#work()
    })
  }

  /** Rejects at once when there is no channel just now. */
  runNow<T>(errand: (channel: AmqpChannel) => Promise<T>): Promise<T> {
    if (this.#steady.channel === undefined) return Promise.reject(new BrokerError('RabbitMQ cannot be asked just now: there is no connection.'))
    return this.run(errand)
  }

  async #work(): Promise<void> {
    if (this.#running) return
    this.#running = true
    for (let channel = this.#steady.channel; channel !== undefined && this.#waiting.length > 0; channel = this.#steady.channel) {
      const errand = this.#waiting[0]!
      try {
        const value = await errand.run(channel)
        errand.resolve(value)
      } catch (error) {
        // No answer of the broker's: the channel went away with the connection, and the next one asks again.
        if (!this.#closed && this.#steady.channel !== channel && !isAnswer(error)) continue
        errand.reject(error)
      }
      if (this.#waiting[0] === errand) this.#waiting.shift()
    }
    this.#running = false
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const errand of this.#waiting.splice(0)) errand.reject(closedError())
    await this.#steady.close()
  }
}

const isAnswer = (error: unknown): boolean => error instanceof BrokerError || typeof (error as { code?: unknown }).code === 'number'

const closedError = (): BrokerError => new BrokerError('The connection to RabbitMQ has been closed.')
