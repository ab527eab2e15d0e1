/**
 * One channel, and what it has delivered. Delivery tags count anew on each channel, so a settlement that came late onto the next
 * one would settle another job: here it is dropped.
 */
import { setMaxListeners } from 'node:events'
import type { AmqpChannel, AmqpMessage } from '../connection/client.js'
import { closeChannel } from '../connection/closing.js'
import { Acknowledgements } from './acknowledgements.js'

/** One consumer of a generation's; holds what was delivered to it, until that is settled. */
export interface Consumer {
  readonly generation: Generation
  readonly tag: string
  /** Its prefetch, fixed when it started. */
  readonly size: number
  cancelled: boolean
  held: number
}

/** Consumers of one queue at once: more are put together again. */
const MAX_CONSUMERS = 8
/** ms between two consumers that take the place of a cancelled one's jobs as those end. */
const CATCH_UP = 1_000
let tags = 0

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
  #working: Promise<void> | undefined
  #catchUp: NodeJS.Timeout | undefined

  constructor(
    channel: AmqpChannel,
    queue: string,
    consumerArguments: Readonly<Record<string, unknown>>,
    receive: (message: AmqpMessage, consumer: Consumer) => void,
    cancelledByServer: () => void,
  ) {
    this.#channel = channel
    // Each delivery may listen.
    setMaxListeners(0, this.#gone.signal)
    this.#queue = queue
    this.#consumerArguments = consumerArguments
    this.#receive = receive
    this.#cancelledByServer = cancelledByServer
    this.#acknowledgements = new Acknowledgements(channel, channel.connection.stream)
  }

  /** Aborts when the channel is gone. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  end(reason: Error): void {
    clearTimeout(this.#catchUp)
    this.#acknowledgements.end()
    this.#gone.abort(reason)
  }

  /** Sends what has been settled in this turn. */
  flush(): void {
    this.#acknowledgements.flush()
  }

  /** False: it was not sent, because its channel has gone. */
  settle(message: AmqpMessage, holder: Consumer, how: 'ack' | 'requeue'): boolean {
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
    holder.held--
    if (holder.cancelled) this.#leftoverSettled()
    return true
  }

  #leftoverSettled(): void {
    if (this.#leftovers() === 0) {
      clearTimeout(this.#catchUp)
      this.#catchUp = undefined
      void this.#adjust()
    } else {
      this.#catchUp ??= setTimeout(() => {
        this.#catchUp = undefined
        void this.#adjust()
      }, CATCH_UP).unref()
    }
  }

  /**
   * How many deliveries may be held. A consumer's prefetch is fixed when it starts: more room is one more consumer, less is one
   * cancelled, whose deliveries stay and count until they are settled. So never more are held than the larger of the two figures.
   */
  resize(target: number): Promise<void> {
    this.#target = target
    this.#acknowledgements.room = target
    return this.#adjust()
  }

  /** One change at a time: prefetch and consume are two calls that belong together. */
  async #adjust(): Promise<void> {
    while (this.#working !== undefined) await this.#working
    this.#working = this.#step().finally(() => {
      this.#working = undefined
    })
    await this.#working
  }

  async #step(): Promise<void> {
    if (this.#gone.signal.aborted) return
    // To the broker they are held until they are acknowledged.
    this.flush()
    try {
      const active = [...this.#consumers].filter((each) => !each.cancelled)
      const excess = sum(active) - this.#target
      if (excess > 0) await this.#cancel(surplus(active, excess))
      else if (excess < 0 && active.length >= MAX_CONSUMERS) await this.#cancel(active.slice(1))
      this.#forget()
      const room = this.#target - sum([...this.#consumers].filter((each) => !each.cancelled)) - this.#leftovers()
      if (room > 0) await this.#start(room)
    } catch (error) {
      // The channel died under it: the next generation starts with the present figure.
      if (!this.#gone.signal.aborted) await closeChannel(this.#channel).catch(() => this.end(error as Error))
    }
  }

  #leftovers(): number {
    let held = 0
    for (const each of this.#consumers) if (each.cancelled) held += each.held
    return held
  }

  #forget(): void {
    for (const each of this.#consumers) if (each.cancelled && each.held === 0) this.#consumers.delete(each)
  }

  async #start(size: number): Promise<void> {
    const consumer: Consumer = { generation: this, tag: `prefork-${process.pid}-${++tags}`, size, cancelled: false, held: 0 }
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

/** Those to cancel so that `excess` less can be held: the fewest, the smallest that suffice last. */
const surplus = (active: readonly Consumer[], excess: number): Consumer[] => {
  const chosen: Consumer[] = []
  let left = excess
  const descending = [...active].sort((a, b) => b.size - a.size)
  for (const each of descending) {
    if (each.size > left) continue
    chosen.push(each)
    left -= each.size
  }
  // None fits what is left: the smallest of the others goes, and a smaller one takes its place as its jobs end.
  if (left > 0) {
    const smallest = descending.filter((each) => !chosen.includes(each)).at(-1)
    if (smallest !== undefined) chosen.push(smallest)
  }
  return chosen
}
