/** Consumes one queue, over as many channels as it takes: whatever ends one, the next begins at once, whoever is still at work. */
import { SteadyChannel } from '../connection/channel.js'
import type { AmqpMessage } from '../connection/client.js'
import type { SteadyConnection } from '../connection/connection.js'
import { declareJobQueue, type QueueShape } from '../topology/topology.js'
import { type Consumer, Generation } from './generation.js'

export interface ConsumerSettings {
  /** The name that the node was given; `queue` is one of those behind it. */
  readonly base: string
  readonly queue: string
  readonly shape: QueueShape
  /** Of `basic.consume`, by what the broker is. */
  consumerArguments(): Readonly<Record<string, unknown>>
  receive(message: AmqpMessage, consumer: Consumer): void
  warn(message: string): void
}

export class QueueConsumer {
  readonly #steady: SteadyChannel
  #generation: Generation | undefined
  #capacity = 0
  #paused = false

  constructor(connection: SteadyConnection, settings: ConsumerSettings) {
    const { base, queue, shape } = settings
    this.#steady = new SteadyChannel(connection, {
      confirm: false,
      setup: (channel) => declareJobQueue(channel, base, queue, shape),
      opened: (channel) => {
        const generation: Generation = new Generation(channel, queue, settings.consumerArguments(), settings.receive, () => {
          // Its deliveries are void with the queue; a new queue of the same name must not meet their tags.
          settings.warn(
            `RabbitMQ cancelled the consumer of the queue '${queue}': it was deleted, its node went away, or (RabbitMQ 4.3) a job was held for longer than its timeout. It is declared and consumed again.`,
          )
          void channel.close().catch(() => {})
        })
        this.#generation = generation
        void this.#apply()
      },
      gone: (_channel, reason) => {
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

  /** Resolves when nothing more will be delivered. */
  pause(): Promise<void> {
    this.#paused = true
    return this.#apply()
  }

  resume(): void {
    this.#paused = false
    void this.#apply()
  }

  /** Gives back what is unsettled. */
  async close(): Promise<void> {
    this.#paused = true
    this.#generation?.flush()
    await this.#steady.close()
  }
}

const closedText = (queue: string, reason: Error): string =>
  /timed out|timeout/i.test(reason.message)
    ? `RabbitMQ closed the channel of the queue '${queue}', because a job was held for longer than its consumer_timeout: the job is handed out again while it still runs. Keep time limits below that figure, or raise consumer_timeout in rabbitmq.conf. It said: ${reason.message}`
    : `RabbitMQ closed the channel of the queue '${queue}': ${reason.message}`
