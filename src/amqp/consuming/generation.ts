import { setMaxListeners } from 'node:events'
import { closeChannel } from '../connection/bounded-close.js'
import type { AmqpChannel, AmqpMessage } from '../connection/client.js'
import { Acknowledgements } from './acknowledgements.js'

/** One consumer of a generation, and the number of its unsettled deliveries. */
export interface Consumer {
  readonly generation: Generation
  readonly tag: string
  /** Its prefetch. AMQP fixes it when the consumer starts. */
  readonly size: number
  cancelled: boolean
  held: number
}

/** Consumers of one queue at most. Further ones are merged into one. */
const MAX_CONSUMERS = 8
/** ms between two consumers that replace the settled deliveries of a cancelled one. */
const REPLACE_INTERVAL = 1_000
let consumerCount = 0

/** One channel and its deliveries. Tags begin anew on each channel: sent on the next, a settlement would settle another job, so it is dropped. */
export class Generation {
  readonly #channel: AmqpChannel
  readonly #queue: string
  readonly #consumerArguments: Readonly<Record<string, unknown>>
  readonly #receive: (message: AmqpMessage, consumer: Consumer) => void
  readonly #cancelledByServer: () => void
  readonly #gone = new AbortController()
  readonly #consumers = new Set<Consumer>()
  readonly #acknowledgements: Acknowledgements
  #target = 0
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

  flush(): void {
    this.#acknowledgements.flush()
  }

  /** False: not sent, because the channel is closed. */
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
    consumer.held--
    if (consumer.cancelled) this.#cancelledConsumerSettled()
    return true
  }

  #cancelledConsumerSettled(): void {
    if (this.#heldByCancelled() === 0) this.#replace()
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
    this.#adjusting = this.#step().finally(() => {
      this.#adjusting = undefined
    })
    await this.#adjusting
  }

  async #step(): Promise<void> {
    if (this.#gone.signal.aborted) return
    // For the broker, deliveries count until the acknowledgement arrives.
    this.flush()
    try {
      const active = [...this.#consumers].filter((each) => !each.cancelled)
      const excess = sum(active) - this.#target
      if (excess > 0) await this.#cancel(consumersToCancel(active, excess))
      else if (excess < 0 && active.length >= MAX_CONSUMERS) await this.#cancel(active.slice(1))
      this.#removeSettled()
      const missing = this.#target - sum([...this.#consumers].filter((each) => !each.cancelled)) - this.#heldByCancelled()
      if (missing > 0) await this.#start(missing)
    } catch (error) {
      // The next generation starts with the present target.
      if (!this.#gone.signal.aborted) await closeChannel(this.#channel).catch(() => this.end(error as Error))
    }
  }

  #heldByCancelled(): number {
    let held = 0
    for (const each of this.#consumers) if (each.cancelled) held += each.held
    return held
  }

  #removeSettled(): void {
    for (const each of this.#consumers) if (each.cancelled && each.held === 0) this.#consumers.delete(each)
  }

  async #start(size: number): Promise<void> {
    const consumer: Consumer = { generation: this, tag: `prefork-${process.pid}-${++consumerCount}`, size, cancelled: false, held: 0 }
    this.#consumers.add(consumer)
    await this.#channel.prefetch(size)
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
    consumer.held++
    this.#receive(message, consumer)
  }

  async #cancel(consumers: readonly Consumer[]): Promise<void> {
    for (const each of consumers) each.cancelled = true
    await Promise.all(consumers.map((each) => this.#channel.cancel(each.tag)))
  }
}

const sum = (consumers: readonly Consumer[]): number => consumers.reduce((total, each) => total + each.size, 0)

/** The consumers to cancel so that the sum of their prefetch is at least `excess`: as few as possible. */
const consumersToCancel = (active: readonly Consumer[], excess: number): Consumer[] => {
  const chosen: Consumer[] = []
  let left = excess
  const descending = [...active].sort((a, b) => b.size - a.size)
  for (const each of descending) {
    if (each.size > left) continue
    chosen.push(each)
    left -= each.size
  }
  // The rest is smaller than any other consumer: the smallest is cancelled too, and a smaller one replaces it.
  if (left > 0) {
    const smallest = descending.filter((each) => !chosen.includes(each)).at(-1)
    if (smallest !== undefined) chosen.push(smallest)
  }
  return chosen
}
