import { setMaxListeners } from 'node:events'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { closeChannel } from '../connection/bounded-close.js'
import type { AmqpChannel, AmqpMessage } from '../connection/client.js'
import { Acknowledgements } from './acknowledgements.js'

/** One consumer of a generation, and the number of its unsettled deliveries. */
export interface Consumer {
  readonly generation: ChannelGeneration
  readonly tag: string
  /** AMQP fixes the prefetch when the consumer starts. */
  readonly prefetch: number
  cancelled: boolean
  unsettled: number
}

/** Consumers of one queue at most. Further consumers are merged into one. */
const MAX_CONSUMERS = 8
/** While a cancelled consumer still has unsettled deliveries: ms between two starts of consumers that use the capacity it has freed. */
const REPLACE_INTERVAL = 1_000
let consumerCount = 0

/**
 * One channel and its deliveries. Delivery tags restart on each channel. A settlement for a closed channel is dropped: on the next
 * channel its tag belongs to another job.
 */
export class ChannelGeneration {
  readonly #channel: AmqpChannel
  readonly #queue: string
  readonly #consumerArguments: Readonly<Record<string, unknown>>
  readonly #receive: (message: AmqpMessage, consumer: Consumer) => void
  readonly #cancelledByServer: () => void
  readonly #gone = new AbortController()
  readonly #consumers = new Set<Consumer>()
  readonly #acknowledgements: Acknowledgements
  #target = 0
  #deliveries = 0
  #adjusting: Promise<void> | undefined
  #replaceTimer: NodeJS.Timeout | undefined

  constructor(
    channel: AmqpChannel,
    queue: string,
    consumerArguments: Readonly<Record<string, unknown>>,
    receive: (message: AmqpMessage, consumer: Consumer) => void,
    cancelledByServer: () => void,
  ) {
    this.#channel = channel
    // Each delivery may add a listener.
    setMaxListeners(0, this.#gone.signal)
    this.#queue = queue
    this.#consumerArguments = consumerArguments
    this.#receive = receive
    this.#cancelledByServer = cancelledByServer
    this.#acknowledgements = new Acknowledgements(channel, channel.connection.stream)
  }

  /** Aborts when the channel is closed. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  end(reason: Error): void {
    clearTimeout(this.#replaceTimer)
    this.#acknowledgements.end()
    this.#gone.abort(reason)
  }

  /** Deliveries so far. */
  get deliveries(): number {
    return this.#deliveries
  }

  /** Consumers that were not cancelled. */
  get consumers(): number {
    let consumers = 0
    for (const { cancelled } of this.#consumers) if (!cancelled) consumers++
    return consumers
  }

  /** The channel consumes, and holds no unsettled delivery. */
  get isIdle(): boolean {
    const consumers = [...this.#consumers]
    return consumers.some(({ cancelled }) => !cancelled) && consumers.every(({ unsettled }) => unsettled === 0)
  }

  flush(): void {
    this.#acknowledgements.flush()
  }

  /** False: the settlement was not sent, because the channel is closed. */
  settle(message: AmqpMessage, consumer: Consumer, how: 'ack' | 'requeue'): boolean {
    if (this.#gone.signal.aborted) return false
    const { deliveryTag } = message.fields
    if (how === 'ack') this.#acknowledgements.add(deliveryTag)
    else {
      try {
        this.#channel.nack(message, false, true)
      } catch {
        return false
      }
      this.#acknowledgements.settled(deliveryTag)
    }
    consumer.unsettled--
    if (consumer.cancelled) this.#cancelledConsumerSettled()
    return true
  }

  #cancelledConsumerSettled(): void {
    if (this.#unsettledOfCancelled() === 0) this.#replace()
    else this.#replaceTimer ??= setTimeout(() => this.#replace(), REPLACE_INTERVAL).unref()
  }

  #replace(): void {
    clearTimeout(this.#replaceTimer)
    this.#replaceTimer = undefined
    void this.#adjust()
  }

  /**
   * Sets how many deliveries may be unsettled at once. A consumer's prefetch is fixed when it starts: a larger target starts one more
   * consumer, a smaller one cancels consumers, whose deliveries count until they are settled. So the number of unsettled deliveries
   * never exceeds the larger of the old and the new target.
   */
  resize(target: number): Promise<void> {
    this.#target = target
    this.#acknowledgements.capacity = target
    return this.#adjust()
  }

  /** One change at a time: `prefetch` applies to the `consume` that follows it. */
  async #adjust(): Promise<void> {
    while (this.#adjusting !== undefined) await this.#adjusting
    this.#adjusting = this.#applyTarget().finally(() => {
      this.#adjusting = undefined
    })
    await this.#adjusting
  }

  async #applyTarget(): Promise<void> {
    if (this.#gone.signal.aborted) return
    // RabbitMQ counts a delivery until it has the acknowledgement. So the acknowledgements are sent first.
    this.flush()
    try {
      const active = [...this.#consumers].filter((each) => !each.cancelled)
      const excess = sum(active) - this.#target
      if (excess > 0) await this.#cancel(consumersToCancel(active, excess))
      else if (excess < 0 && active.length >= MAX_CONSUMERS) await this.#cancel(active.slice(1))
      this.#removeSettled()
      const missing = this.#target - sum([...this.#consumers].filter((each) => !each.cancelled)) - this.#unsettledOfCancelled()
      if (missing > 0) await this.#start(missing)
    } catch (error) {
      // Closes the channel; its successor starts from `#target`.
      if (!this.#gone.signal.aborted) await closeChannel(this.#channel).catch(() => this.end(error as Error))
    }
  }

  #unsettledOfCancelled(): number {
    let unsettled = 0
    for (const each of this.#consumers) if (each.cancelled) unsettled += each.unsettled
    return unsettled
  }

  #removeSettled(): void {
    for (const each of this.#consumers) if (each.cancelled && each.unsettled === 0) this.#consumers.delete(each)
  }

  async #start(prefetch: number): Promise<void> {
    const consumer: Consumer = { generation: this, tag: `prefork-${process.pid}-${++consumerCount}`, prefetch, cancelled: false, unsettled: 0 }
    this.#consumers.add(consumer)
    await this.#channel.prefetch(prefetch)
    await this.#channel.consume(this.#queue, (message) => this.#delivered(consumer, message), {
      noAck: false,
      consumerTag: consumer.tag,
      arguments: this.#consumerArguments,
    })
  }

  #delivered(consumer: Consumer, message: AmqpMessage | null): void {
    if (message === null) {
      this.#cancelledByServer()
      return
    }
    this.#deliveries++
    consumer.unsettled++
    this.#receive(message, consumer)
  }

  async #cancel(consumers: readonly Consumer[]): Promise<void> {
    for (const each of consumers) each.cancelled = true
    await Promise.all(consumers.map((each) => this.#channel.cancel(each.tag)))
  }
}

const sum = (consumers: readonly Consumer[]): number => consumers.reduce((total, each) => total + each.prefetch, 0)

/**
 * The consumers to cancel so that the sum of their prefetch is at least `excess`: the largest that fit; then, if something is left, the
 * smallest of the others.
 */
const consumersToCancel = (active: readonly Consumer[], excess: number): Consumer[] => {
  const chosen: Consumer[] = []
  let left = excess
  const descending = [...active].sort((a, b) => b.prefetch - a.prefetch)
  for (const each of descending) {
    if (each.prefetch > left) continue
    chosen.push(each)
    left -= each.prefetch
  }
  // `left` is less than any remaining prefetch: cancel the smallest; `#applyTarget` then starts one with the difference.
  if (left > 0) {
    const smallest = descending.filter((each) => !chosen.includes(each)).at(-1)
    if (smallest !== undefined) chosen.push(smallest)
  }
  return chosen
}
