import { clearImmediate, clearTimeout, setImmediate, setTimeout } from '../../util/node-time.js'
import { type AmqpChannel, type AmqpStream, corkForTurn } from '../connection/client.js'
import { SettledTags } from './settled-tags.js'

/** Up to this many acknowledgements are sent at the end of the turn, even when an earlier delivery is unsettled. */
const SEND_AT_ONCE = 8
/** Longest time that more than `SEND_AT_ONCE` acknowledgements wait for an earlier delivery, ms. */
const MAX_WAIT = 5

/**
 * The acknowledgements of one channel, collected for one turn of the event loop. Consecutive acknowledgements are sent as one frame
 * (`multiple`): a frame and a system call for each would cost a node under load more than the jobs themselves.
 */
export class Acknowledgements {
  readonly #channel: Pick<AmqpChannel, 'ack'>
  readonly #stream: Pick<AmqpStream, 'cork' | 'uncork'> | undefined
  #tags: number[] = []
  #immediate: NodeJS.Immediate | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #settled = new SettledTags()
  /** Deliveries that may be unsettled at once. When the acknowledgements of half of them wait here, they are sent: the broker could deliver more. */
  capacity = 0

  /** `stream`: of the channel's connection. */
  constructor(channel: Pick<AmqpChannel, 'ack'>, stream?: Pick<AmqpStream, 'cork' | 'uncork'>) {
    this.#channel = channel
    this.#stream = stream
  }

  /** Acknowledges the delivery of this tag at the end of the turn, or soon after. */
  add(tag: number): void {
    this.#tags.push(tag)
    this.settled(tag)
    this.#immediate ??= setImmediate(() => this.#endOfTurn())
  }

  /** The delivery of this tag was settled without an acknowledgement. */
  settled(tag: number): void {
    this.#settled.add(tag)
  }

  #endOfTurn(): void {
    this.#immediate = undefined
    this.#sendUpToFloor()
    const { length } = this.#tags
    if (length === 0) return
    if (length <= SEND_AT_ONCE || length * 2 > this.capacity) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), MAX_WAIT)
  }

  flush(): void {
    this.#cancelTimers()
    this.#sendUpToFloor()
    const tags = this.#tags
    this.#tags = []
    if (tags.length > 1 && this.#stream !== undefined) corkForTurn(this.#stream)
    for (const tag of tags) this.#send(tag, false)
  }

  /** One frame for all up to the floor. It must name a tag that is unsettled: RabbitMQ closes the channel otherwise. */
  #sendUpToFloor(): void {
    const { floor } = this.#settled
    let last = 0
    let count = 0
    for (const tag of this.#tags) {
      if (tag > floor) continue
      count++
      if (tag > last) last = tag
    }
    if (count === 0) return
    this.#tags = count === this.#tags.length ? [] : this.#tags.filter((tag) => tag > floor)
    this.#send(last, count > 1)
  }

  /** When the channel has just been closed, the acknowledgements are lost: RabbitMQ redelivers the messages, and the runtime recognises them. */
  #send(deliveryTag: number, allUpTo: boolean): void {
    try {
      this.#channel.ack({ fields: { deliveryTag } }, allUpTo)
    } catch {
      this.#tags = []
    }
  }

  #cancelTimers(): void {
    clearImmediate(this.#immediate)
    clearTimeout(this.#timer)
    this.#immediate = undefined
    this.#timer = undefined
  }

  /** The channel is closed: drops what has not been sent. */
  end(): void {
    this.#cancelTimers()
    this.#tags = []
  }
}
