import type { AmqpMessage } from '../connection/client.js'
import { ReconnectingChannel } from '../connection/reconnecting-channel.js'
import type { ReconnectingConnection } from '../connection/reconnecting-connection.js'
import { declareJobQueue, type QueueShape } from '../topology/topology.js'
import { type Consumer, Generation } from './generation.js'

export interface ConsumerSettings {
  /** The name of the queue in the node's options. */
  readonly base: string
  /** One of the queues behind it. */
  readonly queue: string
  readonly shape: QueueShape
  /** Arguments of `basic.consume`, which depend on the broker's version. */
  consumerArguments(): Readonly<Record<string, unknown>>
  receive(message: AmqpMessage, consumer: Consumer): void
  warn(message: string): void
}

/** Consumes one queue. When its channel is closed, it opens the next at once, while jobs of the old one may still run. */
export class QueueConsumer {
  readonly #reconnecting: ReconnectingChannel
  #generation: Generation | undefined
  #capacity = 0
  #paused = false

  constructor(connection: ReconnectingConnection, settings: ConsumerSettings) {
    const { base, queue, shape } = settings
    this.#reconnecting = new ReconnectingChannel(connection, {
      confirm: false,
      setup: (channel) => declareJobQueue(channel, base, queue, shape),
      opened: (channel) => {
        const generation: Generation = new Generation(channel, queue, settings.consumerArguments(), settings.receive, () => {
          // The queue's deliveries are void. Their tags must not be sent to a new queue of the same name.
          settings.warn(
            `RabbitMQ cancelled the consumer of the queue '${queue}': it was deleted, its node went away, or (RabbitMQ 4.3) a job was held for longer than its timeout. It is declared and consumed again.`,
          )
          void channel.close().catch(() => {})
        })
        this.#generation = generation
        void this.#apply()
      },
      closed: (_channel, reason) => {
        this.#generation?.end(reason)
        this.#generation = undefined
        if ((reason as { code?: number }).code !== undefined) settings.warn(closedText(queue, reason))
      },
      failed: (error) => settings.warn(`The queue '${queue}' cannot be consumed just now: ${error.message}`),
    })
  }

  async #apply(): Promise<void> {
    await this.#generation?.resize(this.#paused ? 0 : this.#capacity)
  }

  setCapacity(capacity: number): void {
    if (capacity === this.#capacity) return
    this.#capacity = capacity
    void this.#apply()
  }

  /** Resolves when nothing more is delivered. */
  pause(): Promise<void> {
    this.#paused = true
    return this.#apply()
  }

  resume(): void {
    this.#paused = false
    void this.#apply()
  }

  /** Closes the channel: RabbitMQ requeues the unsettled deliveries. */
  async close(): Promise<void> {
    this.#paused = true
    this.#generation?.flush()
    await this.#reconnecting.close()
  }
}

const closedText = (queue: string, reason: Error): string =>
  /timed out|timeout/i.test(reason.message)
    ? `RabbitMQ closed the channel of the queue '${queue}', because a job was held for longer than its consumer_timeout: the job is handed out again while it still runs. Keep time limits below it, or raise consumer_timeout in rabbitmq.conf. It said: ${reason.message}`
    : `RabbitMQ closed the channel of the queue '${queue}': ${reason.message}`
