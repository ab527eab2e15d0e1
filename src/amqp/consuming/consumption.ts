import type { Consumption } from '../../node/broker.js'
import type { AmqpMessage } from '../connection/client.js'
import type { ReconnectingConnection } from '../connection/reconnecting-connection.js'
import type { Consumer } from './channel-generation.js'
import type { GivenBackJobs } from './given-back.js'
import { type ConsumerSettings, QueueConsumer } from './queue-consumer.js'

interface ConsumptionSettings extends Omit<ConsumerSettings, 'base' | 'queue' | 'receive'> {
  readonly sources: readonly Pick<ConsumerSettings, 'base' | 'queue'>[]
  receive(message: AmqpMessage, consumer: Consumer, base: string): void
  readonly givenBack: GivenBackJobs
}

/** The consumers of a node's queues, which share its capacity. */
export class AmqpConsumption implements Consumption {
  readonly #consumers: readonly QueueConsumer[]

  readonly #givenBack: GivenBackJobs

  constructor(connection: ReconnectingConnection, { sources, receive, givenBack, ...shared }: ConsumptionSettings) {
    this.#givenBack = givenBack
    this.#consumers = sources.map(
      ({ base, queue }) => new QueueConsumer(connection, { ...shared, base, queue, receive: (message, consumer) => receive(message, consumer, base) }),
    )
  }

  /**
   * Each queue may use all slots: a share of them would not be lent to another queue. What is held ahead is divided evenly; the first queues get the
   * remainder.
   */
  setCapacity(capacity: number, slots = capacity): void {
    const count = this.#consumers.length
    const ahead = Math.max(0, capacity - slots)
    this.#consumers.forEach((consumer, index) => {
      const share = Math.floor(ahead / count) + (index < ahead % count ? 1 : 0)
      consumer.setCapacity(Math.min(capacity, slots) + share)
    })
  }

  /** `ready`: messages that are ready in `queue`, one of the queues behind a name. Returns how many of its consumers are this node's. */
  check(queue: string, ready: number): number {
    const consumer = this.#consumers.find((each) => each.queue === queue)
    consumer?.check(ready)
    return consumer?.consumers ?? 0
  }

  async pause(): Promise<void> {
    this.#givenBack.pause()
    await Promise.all(this.#consumers.map((consumer) => consumer.pause()))
  }

  resume(): void {
    for (const consumer of this.#consumers) consumer.resume()
    this.#givenBack.resume()
  }

  stop(): Promise<void> {
    return this.pause()
  }

  /** Closes the channels: RabbitMQ requeues the unsettled deliveries. */
  async close(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.close()))
  }
}
