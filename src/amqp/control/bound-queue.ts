/** A queue of one's own, gone with its connection, that stays bound to an exchange. */
import { SteadyChannel } from '../connection/channel.js'
import type { AmqpChannel, AmqpMessage } from '../connection/client.js'
import type { SteadyConnection } from '../connection/connection.js'
import { declareExchanges } from '../topology/topology.js'

export interface BoundQueueSettings {
  readonly controlExchange: string
  readonly eventExchange: string
  /** Which of the two it is bound to, and by which key. */
  readonly to: 'control' | 'events'
  readonly key: string
  receive(message: AmqpMessage): void
  /** It is bound and consumed, for the first time or again. */
  opened?(channel: AmqpChannel): void
  failed?(error: Error): void
}

/** ms between two looks at the binding: an exchange that was deleted takes it along, and tells nobody. */
const REBIND = 5_000

export class BoundQueue {
  readonly #settings: BoundQueueSettings
  readonly #steady: SteadyChannel
  readonly #looking: NodeJS.Timeout
  #queue = ''

  constructor(connection: SteadyConnection, settings: BoundQueueSettings) {
    this.#settings = settings
    this.#steady = new SteadyChannel(connection, {
      confirm: false,
      setup: (channel) => this.#consume(channel),
      opened: (channel) => settings.opened?.(channel),
      failed: (error) => settings.failed?.(error),
    })
    this.#looking = setInterval(() => void this.#bindAgain(), REBIND).unref()
  }

  /** Its name; undefined while no messages arrive. */
  get name(): string | undefined {
    return this.#steady.channel === undefined ? undefined : this.#queue
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

  /** What is there already stays as it is. */
  async #bind(channel: AmqpChannel): Promise<void> {
    const { controlExchange, eventExchange, to, key } = this.#settings
    await declareExchanges(channel, controlExchange, eventExchange)
    await channel.bindQueue(this.#queue, to === 'control' ? controlExchange : eventExchange, key)
  }

  async #bindAgain(): Promise<void> {
    const { channel } = this.#steady
    if (channel === undefined) return
    try {
      await this.#bind(channel)
    } catch {
      // The broker has closed the channel over it: the next one makes both, or says why it cannot.
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#looking)
    await this.#steady.close()
  }
}
