import { clearInterval, setInterval } from '../../util/node-time.js'
import type { AmqpChannel, AmqpMessage } from '../connection/client.js'
import { ReconnectingChannel } from '../connection/reconnecting-channel.js'
import type { ReconnectingConnection } from '../connection/reconnecting-connection.js'
import { declareExchanges } from '../topology/topology.js'

export interface BoundQueueSettings {
  readonly controlExchange: string
  readonly eventExchange: string
  /** The exchange that it is bound to, with the routing key `key`. */
  readonly to: 'control' | 'events'
  readonly key: string
  receive(message: AmqpMessage): void
  /** The queue is bound and consumed, for the first time or after a reconnect. */
  opened?(channel: AmqpChannel): void
  failed?(error: Error): void
}

/** ms between two declarations of the binding: RabbitMQ removes it with a deleted exchange, and sends no notification. */
const REBIND_INTERVAL = 5_000

/** An exclusive, auto-delete queue that is consumed and stays bound to an exchange, also after a reconnect. */
export class BoundQueue {
  readonly #settings: BoundQueueSettings
  readonly #reconnecting: ReconnectingChannel
  readonly #rebindTimer: NodeJS.Timeout
  #queue = ''
  /** A key of the event exchange under which it gets messages as well. */
  #eventKey: string | undefined

  constructor(connection: ReconnectingConnection, settings: BoundQueueSettings) {
    this.#settings = settings
    this.#reconnecting = new ReconnectingChannel(connection, {
      confirm: false,
      setup: (channel) => this.#consume(channel),
      opened: (channel) => settings.opened?.(channel),
      failed: (error) => settings.failed?.(error),
    })
    this.#rebindTimer = setInterval(() => void this.#bindAgain(), REBIND_INTERVAL).unref()
  }

  /** The queue's name; undefined while it is not consumed. */
  get name(): string | undefined {
    return this.#reconnecting.channel === undefined ? undefined : this.#queue
  }

  async #consume(channel: AmqpChannel): Promise<void> {
    const { queue } = await channel.assertQueue('', { exclusive: true, autoDelete: true, durable: false })
    this.#queue = queue
    await this.#bind(channel)
    await channel.consume(
      queue,
      (message) => {
        if (message === null) void channel.close().catch(() => {})
        else this.#settings.receive(message)
      },
      { noAck: true },
    )
  }

  /** Idempotent. */
  async #bind(channel: AmqpChannel): Promise<void> {
    const { controlExchange, eventExchange, to, key } = this.#settings
    await declareExchanges(channel, controlExchange, eventExchange)
    await channel.bindQueue(this.#queue, to === 'control' ? controlExchange : eventExchange, key)
    if (this.#eventKey !== undefined) await this.#bindEvents(channel, this.#eventKey)
  }

  /** A user who may not read the event exchange can still consume commands. */
  async #bindEvents(channel: AmqpChannel, key: string): Promise<void> {
    try {
      await channel.bindQueue(this.#queue, this.#settings.eventExchange, key)
    } catch (error) {
      if ((error as { code?: unknown }).code === 403) this.#eventKey = undefined
      throw error
    }
  }

  /** Binds it to the event exchange as well, from now on. */
  async bindToEvents(key: string): Promise<void> {
    this.#eventKey = key
    await this.#bindAgain()
  }

  async #bindAgain(): Promise<void> {
    const { channel } = this.#reconnecting
    if (channel === undefined) return
    try {
      await this.#bind(channel)
    } catch {
      // RabbitMQ has closed the channel. The next one declares exchanges and binding again, or reports `failed`.
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#rebindTimer)
    await this.#reconnecting.close()
  }
}
