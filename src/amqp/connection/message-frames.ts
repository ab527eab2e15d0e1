/**
 * Writes the frames of small messages. amqplib makes six Buffers for each, copies the headers twice, and gives the socket one message at a time: a system
 * call for each message where the socket's buffer is full. Here the messages of one turn are written into one Buffer, and handed over together.
 *
 * This bypasses functions inside amqplib. So it is used only where it writes a sample exactly as they do, and a message that it does not know is
 * published by `channel.publish`.
 */
import { nextTick } from '../../util/node-time.js'
import type { AmqpChannel, PublishOptions } from './client.js'
import { MAX_MESSAGE, MessageEncoder } from './message-encoder.js'

type Publish = AmqpChannel['publish']

type Confirmed = (error: Error | null) => void

/** The frames of one channel that wait for the socket. */
type Outgoing = { readonly buffer: { write(bytes: Buffer): boolean; readonly writableNeedDrain?: boolean } } | null | undefined

/** The part of amqplib's internal connection that sends frames. */
interface FrameSink {
  readonly channels: Outgoing[]
  /** For the heartbeat. */
  sentSinceLastCheck: boolean
  sendMessage(channel: number, method: number, fields: object, properties: number, values: object, body: Buffer): boolean
  sendMethod(channel: number, method: number, fields: object): boolean
}

/** The part of an amqplib channel that `publish` uses. */
interface SendingChannel {
  readonly ch: number
  readonly connection: FrameSink
  sendMessage(fields: object, properties: object, body: Buffer): boolean
  pushConfirmCallback(done: Confirmed): void
}

const SLAB = 65_536

/** The messages of one connection that were encoded in this turn. */
class MessageBatch {
  readonly #sink: FrameSink
  #encoder = new MessageEncoder(Buffer.allocUnsafeSlow(SLAB))
  /** What is encoded and not handed over: from `#from` to `#to`. */
  #from = 0
  #to = 0
  /** End of the message that is being published. */
  #end = 0
  #channel = 0
  /** The channel of the batch, as the connection knows it: another one may get its number. */
  #outgoing: Outgoing
  #scheduled = false

  constructor(sink: FrameSink) {
    this.#sink = sink
    const { sendMessage, sendMethod } = sink
    // What else is sent goes behind the messages before it.
    sink.sendMessage = (channel, method, fields, properties, values, body) => {
      if (fields === this) return this.#add(channel)
      this.flush()
      return sendMessage.call(sink, channel, method, fields, properties, values, body)
    }
    sink.sendMethod = (channel, method, fields) => {
      this.flush()
      return sendMethod.call(sink, channel, method, fields)
    }
  }

  /** As `channel.publish` of amqplib, which is called where the message is large or has unusual headers. */
  publish(channel: AmqpChannel & SendingChannel, exchange: string, key: string, body: Buffer, options: PublishOptions, done: Confirmed): boolean {
    if (!this.#encode(channel.ch, exchange, key, body, options)) return channel.publish(exchange, key, body, options, done)
    // Throws when the channel is closed. An open one calls `sendMessage` of its connection.
    const writable = channel.sendMessage(this, this, body)
    channel.pushConfirmCallback(done)
    return writable
  }

  #encode(channel: number, exchange: string, key: string, body: Buffer, options: PublishOptions): boolean {
    if (this.#to + MAX_MESSAGE > SLAB) {
      this.flush()
      this.#encoder = new MessageEncoder(Buffer.allocUnsafeSlow(SLAB))
      this.#from = 0
      this.#to = 0
    }
    const end = this.#encoder.encode(this.#to, channel, exchange, key, body, options)
    if (end === undefined) return false
    this.#end = end
    return true
  }

  #add(channel: number): boolean {
    const outgoing = this.#sink.channels[channel]
    if (outgoing !== this.#outgoing) {
      this.flush()
      this.#channel = channel
      this.#outgoing = outgoing
    }
    this.#to = this.#end
    if (!this.#scheduled) {
      this.#scheduled = true
      nextTick(() => {
        this.#scheduled = false
        this.flush()
      })
    }
    return outgoing?.buffer.writableNeedDrain !== true
  }

  flush(): void {
    const from = this.#from
    const to = this.#to
    if (from === to) return
    this.#from = to
    const outgoing = this.#outgoing
    // A channel that is closed takes no more frames: what was not confirmed is published again.
    if (outgoing === undefined || outgoing === null || this.#sink.channels[this.#channel] !== outgoing) return
    this.#sink.sentSinceLastCheck = true
    outgoing.buffer.write(this.#encoder.bytes.subarray(from, to))
  }
}

const batches = new WeakMap<FrameSink, MessageBatch>()

/** `channel.publish`, or what does the same at less cost. */
export const publishOn = (channel: AmqpChannel): { readonly publish: Publish; readonly batched: boolean } => {
  if (!isSending(channel)) return { publish: channel.publish.bind(channel), batched: false }
  const sink = channel.connection
  let batch = batches.get(sink)
  if (batch === undefined) {
    if (!encodesAlike(channel)) return { publish: channel.publish.bind(channel), batched: false }
    batch = new MessageBatch(sink)
    batches.set(sink, batch)
  }
  const used = batch
  return { publish: (exchange, key, body, options = {}, done = () => {}) => used.publish(channel, exchange, key, body, options, done), batched: true }
}

const isSending = (channel: object): channel is AmqpChannel & SendingChannel => {
  const { ch, sendMessage, pushConfirmCallback, connection } = channel as Partial<SendingChannel>
  return (
    typeof ch === 'number' &&
    [sendMessage, pushConfirmCallback, connection?.sendMessage, connection?.sendMethod].every((each) => typeof each === 'function') &&
    Array.isArray(connection?.channels) &&
    typeof connection.channels[ch]?.buffer.write === 'function'
  )
}

/** A message with every property and header that is encoded here. */
const SAMPLE = {
  exchange: 'x',
  key: 'q\u00e9',
  body: Buffer.from('{}'),
  options: {
    ...{ contentType: 'j', contentEncoding: 'g', persistent: true, mandatory: true, priority: 7, correlationId: 'c', replyTo: 'r', expiration: '1' },
    ...{ messageId: 'm', timestamp: 0x1_0000_0003, type: 't', appId: 'a' },
    headers: { S: '\u00e9', t: true, b: -1, s: -300, I: -70_000, l: -0x1_0000_0001, none: undefined },
  },
}

let checked: { readonly sendMessage: FrameSink['sendMessage']; readonly publish: Publish; readonly alike: boolean } | undefined

/** Whether the sample is written here as `channel.publish` writes it. */
const encodesAlike = (channel: AmqpChannel & SendingChannel): boolean => {
  const { publish, connection } = channel
  const { sendMessage } = connection
  if (checked?.publish !== publish || checked.sendMessage !== sendMessage) checked = { publish, sendMessage, alike: isSampleAlike(channel) }
  return checked.alike
}

const isSampleAlike = (channel: AmqpChannel & SendingChannel): boolean => {
  const { exchange, key, body, options } = SAMPLE
  const written: Buffer[] = []
  const buffer = { write: (bytes: Buffer) => written.push(bytes) > 0 }
  const sink = Object.create(channel.connection, { channels: { value: [null, { buffer }] }, sentSinceLastCheck: { value: false, writable: true } })
  let confirmed: unknown
  const pushConfirmCallback = (done: unknown): void => {
    confirmed = done
  }
  const own = { ch: { value: 1 }, connection: { value: sink }, pushConfirmCallback: { value: pushConfirmCallback } }
  const done = (): void => {}
  try {
    channel.publish.call(Object.create(channel, own), exchange, key, body, options, done)
    const { bytes } = new MessageEncoder(Buffer.alloc(MAX_MESSAGE))
    const end = new MessageEncoder(bytes).encode(0, 1, exchange, key, body, options)
    return confirmed === done && end !== undefined && Buffer.concat(written).equals(bytes.subarray(0, end))
  } catch {
    return false
  }
}
