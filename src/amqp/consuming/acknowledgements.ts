/**
 * The acknowledgements of one channel, gathered for one turn of the event loop. Those without a gap before them go out as one, for a
 * frame and a system call each would cost a node under load more than the jobs themselves.
 */
import type { AmqpChannel, AmqpStream } from '../connection/client.js'
import { SettledTags } from './settled-tags.js'

type AckChannel = Pick<AmqpChannel, 'ack'>
type CorkedStream = Pick<AmqpStream, 'cork' | 'uncork'>

/** So few frames are sent at once, whatever comes before them. */
const FEW = 8
/** ms that more may wait for those before them. */
const HOLD = 5

export class Acknowledgements {
  readonly #channel: AckChannel
  readonly #stream: CorkedStream | undefined
  /** To be sent. */
  #gathered: number[] = []
  #turn: NodeJS.Immediate | undefined
  #wait: NodeJS.Timeout | undefined
  readonly #settled = new SettledTags()
  /** Deliveries that may be held at once: when half of them wait here, others could be delivered. */
  room = 0

  /** `stream`: of the channel's connection. */
  constructor(channel: AckChannel, stream?: CorkedStream) {
    this.#channel = channel
    this.#stream = stream
  }

  /** The delivery of this tag is to be acknowledged. */
  add(tag: number): void {
    this.#gathered.push(tag)
    this.settled(tag)
    this.#turn ??= setImmediate(() => this.#endOfTurn())
  }

  /** The delivery of this tag was settled in another way. */
  settled(tag: number): void {
    this.#settled.add(tag)
  }

  #endOfTurn(): void {
    this.#turn = undefined
    this.#sendUpToFloor()
    const { length } = this.#gathered
    if (length === 0) return
    if (length <= FEW || length * 2 > this.room) this.flush()
    else this.#wait ??= setTimeout(() => this.flush(), HOLD)
  }

  /** Sends all that is to be sent. */
  flush(): void {
    this.#stop()
    this.#sendUpToFloor()
    const tags = this.#gathered
    this.#gathered = []
    if (tags.length > 1) this.#together()
    for (const tag of tags) this.#send(tag, false)
  }

  /** One frame for all that have no gap before them. It must name one that is unsettled itself: RabbitMQ ends the channel for another. */
  #sendUpToFloor(): void {
    const { floor } = this.#settled
    let last = 0
    let count = 0
    for (const tag of this.#gathered) {
      if (tag > floor) continue
      count++
      if (tag > last) last = tag
    }
    if (count === 0) return
    this.#gathered = count === this.#gathered.length ? [] : this.#gathered.filter((tag) => tag > floor)
    this.#send(last, count > 1)
  }

  /** amqplib writes its frames one by one, in the turn that follows: here they leave as one. */
  #together(): void {
    const stream = this.#stream
    if (stream === undefined) return
    stream.cork()
    setImmediate(() => setImmediate(() => stream.uncork()))
  }

  /** What cannot be sent, because the channel has gone in this very moment, is lost with it: its message comes back, and is recognised. */
  #send(deliveryTag: number, allUpTo: boolean): void {
    try {
      this.#channel.ack({ fields: { deliveryTag } }, allUpTo)
    } catch {
      this.#gathered = []
    }
  }

  #stop(): void {
    clearImmediate(this.#turn)
    clearTimeout(this.#wait)
    this.#turn = undefined
    this.#wait = undefined
  }

  /** The channel is gone. */
  end(): void {
    this.#stop()
    this.#gathered = []
  }
}
