import { performance } from 'node:perf_hooks'
import { closeChannel } from '../connection/bounded-close.js'
import type { AmqpMessage } from '../connection/client.js'
import { ReconnectingChannel } from '../connection/reconnecting-channel.js'
import type { ReconnectingConnection } from '../connection/reconnecting-connection.js'
import { declareJobQueue, type QueueShape } from '../topology/topology.js'
import { ChannelGeneration, type Consumer } from './channel-generation.js'

export interface ConsumerSettings {
  /** The name of the queue in the node's options. */
  readonly base: string
  /** One of the queues behind `base`. */
  readonly queue: string
  readonly shape: QueueShape
  /** Arguments of `basic.consume`, which depend on the broker's version. */
  consumerArguments(): Readonly<Record<string, unknown>>
  receive(message: AmqpMessage, consumer: Consumer): void
  warn(message: string): void
}

/** A consumer that gets no delivery for this long is replaced, ms. Doubled each time that the replacement brings none: other consumers may have precedence. */
const FIRST_DEAF_TIME = 1_500
const MAX_DEAF_TIME = 10 * 60_000

/** Consumes one queue. When its channel is closed, it opens the next at once, while jobs of the old one may still run. */
export class QueueConsumer {
  readonly #reconnecting: ReconnectingChannel
  #generation: ChannelGeneration | undefined
  #capacity = 0
  #paused = false
  readonly #settings: ConsumerSettings
  /** Time of the first of the checks in a row that found the consumer deaf. */
  #deafSince: number | undefined
  #deafTime = FIRST_DEAF_TIME
  /** Deliveries of the generation at the last check. */
  #deliveredBefore = 0

  constructor(connection: ReconnectingConnection, settings: ConsumerSettings) {
    const { base, queue, shape } = settings
    this.#settings = settings
    this.#reconnecting = new ReconnectingChannel(connection, {
      confirm: false,
      setup: (channel) => declareJobQueue(channel, base, queue, shape),
      opened: (channel) => {
        const generation: ChannelGeneration = new ChannelGeneration(channel, queue, settings.consumerArguments(), settings.receive, () => {
          // The queue's deliveries are void. Their tags must not be sent to a new queue of the same name.
          settings.warn(
            `RabbitMQ cancelled the consumer of the queue '${queue}': it was deleted, its node went away, or (RabbitMQ 4.3) a job was held for longer than its timeout. It is declared and consumed again.`,
          )
          void channel.close().catch(() => {})
        })
        this.#generation = generation
        this.#deliveredBefore = 0
        this.#deafSince = undefined
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

  get queue(): string {
    return this.#settings.queue
  }

  /** Consumers of this node, as RabbitMQ counts them. */
  get consumers(): number {
    return this.#generation?.consumers ?? 0
  }

  /**
   * When a quorum queue is deleted and declared again at once, RabbitMQ 3 goes on delivering to its consumers, but loses these messages until
   * the consumers' channel is closed. This shows when their prefetch is used up: messages are ready, none arrives, and there is room. `ready`: messages
   * that are ready in the queue now.
   */
  check(ready: number): void {
    const generation = this.#generation
    const delivered = generation?.deliveries ?? 0
    if (delivered > this.#deliveredBefore) this.#deafTime = FIRST_DEAF_TIME
    const deaf = ready > 0 && !this.#paused && this.#capacity > 0 && generation?.isIdle === true && delivered === this.#deliveredBefore
    this.#deliveredBefore = delivered
    const now = performance.now()
    this.#deafSince = deaf ? (this.#deafSince ?? now) : undefined
    if (this.#deafSince === undefined || now - this.#deafSince < this.#deafTime) return
    this.#deafSince = undefined
    this.#deafTime = Math.min(this.#deafTime * 2, MAX_DEAF_TIME)
    const { queue, warn } = this.#settings
    warn(
      `The queue '${queue}' has jobs, and RabbitMQ delivers none to this node, which has room: its consumer is replaced. RabbitMQ 3 loses deliveries to the consumers of a queue that was deleted and declared again at once.`,
    )
    void closeChannel(this.#reconnecting.channel!).catch(() => {})
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
