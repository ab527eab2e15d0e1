/** A frame as amqplib's channels take it. */
export type Frame = object

const METHOD = 1
const HEADER = 2
const BODY = 3
/** Type, channel and size. */
const HEAD = 7
const BASIC_DELIVER = 0x3c_003c
const BASIC = 0x3c
/** Flags of the properties, from content type to message id and timestamp. Others, and a second word of flags, are rare. */
const CONTENT_TYPE = 0x8000
const CONTENT_ENCODING = 0x4000
const HEADERS = 0x2000
const DELIVERY_MODE = 0x1000
const PRIORITY = 0x0800
const CORRELATION_ID = 0x0400
const REPLY_TO = 0x0200
const EXPIRATION = 0x0100
const MESSAGE_ID = 0x0080
const TIMESTAMP = 0x0040
const KNOWN_FLAGS = CONTENT_TYPE | CONTENT_ENCODING | HEADERS | DELIVERY_MODE | PRIORITY | CORRELATION_ID | REPLY_TO | EXPIRATION | MESSAGE_ID | TIMESTAMP
const TWO_TO_32 = 0x1_0000_0000

/** Longer ones, and names of headers beyond the first ones, are not compared. */
const MAX_TEXT = 64
const MAX_NAMES = 32

/** A text that is mostly the same from message to message. */
class LastText {
  #bytes: Uint8Array = new Uint8Array(0)
  #text = ''

  read(bytes: Buffer, from: number, to: number): string {
    const length = to - from
    const last = this.#bytes
    let i = length === last.length ? 0 : length
    // A loop: calls into Node cost more.
    while (i < length && bytes[from + i] === last[i]) i++
    if (i === length && length === last.length) return this.#text
    const text = bytes.toString('utf8', from, to)
    if (length <= MAX_TEXT) {
      this.#bytes = Uint8Array.prototype.slice.call(bytes, from, to)
      this.#text = text
    }
    return text
  }
}

/** Decodes the frames of deliveries in place. */
export class DeliveryDecoder {
  readonly #consumerTag = new LastText()
  readonly #exchange = new LastText()
  readonly #routingKey = new LastText()
  readonly #contentType = new LastText()
  /** Of headers, by their place. */
  readonly #names: LastText[] = []

  /** Undefined: the frame from `at` to `end`, before its last byte, is none of a delivery, or holds what is not known here. */
  decode(bytes: Buffer, at: number, end: number): Frame | undefined {
    const channel = u16(bytes, at + 1)
    const from = at + HEAD
    switch (bytes[at]) {
      case BODY:
        return { channel, content: bytes.subarray(from, end) }
      case METHOD:
        return end - from > 4 && u32(bytes, from) === BASIC_DELIVER ? this.#delivery(bytes, channel, from + 4, end) : undefined
      case HEADER:
        return end - from >= 14 && u16(bytes, from) === BASIC ? this.#header(bytes, channel, from, end) : undefined
      default:
        return undefined
    }
  }

  #delivery(bytes: Buffer, channel: number, from: number, end: number): Frame | undefined {
    const tag = from
    const number = tag + 1 + bytes[tag]!
    const exchange = number + 9
    if (exchange >= end) return undefined
    const routingKey = exchange + 1 + bytes[exchange]!
    if (routingKey >= end || routingKey + 1 + bytes[routingKey]! !== end) return undefined
    const fields = {
      consumerTag: this.#consumerTag.read(bytes, tag + 1, number),
      deliveryTag: u64(bytes, number),
      redelivered: (bytes[number + 8]! & 1) === 1,
      exchange: this.#exchange.read(bytes, exchange + 1, routingKey),
      routingKey: this.#routingKey.read(bytes, routingKey + 1, end),
    }
    return { id: BASIC_DELIVER, channel, fields }
  }

  #header(bytes: Buffer, channel: number, from: number, end: number): Frame | undefined {
    const flags = u16(bytes, from + 12)
    if (flags === 0 || (flags & ~KNOWN_FLAGS) !== 0) return undefined
    const fields = {
      contentType: undefined as string | undefined,
      contentEncoding: undefined as string | undefined,
      headers: undefined as object | undefined,
      deliveryMode: undefined as number | undefined,
      priority: undefined as number | undefined,
      correlationId: undefined as string | undefined,
      replyTo: undefined as string | undefined,
      expiration: undefined as string | undefined,
      messageId: undefined as string | undefined,
      timestamp: undefined as number | undefined,
      type: undefined,
      userId: undefined,
      appId: undefined,
      clusterId: undefined,
    }
    let at = from + 14
    // A text that ends beyond the frame moves `at` beyond `end`, where the last check finds it.
    if ((flags & CONTENT_TYPE) !== 0) {
      const start = at + 1
      at = start + bytes[at]!
      if (at > end) return undefined
      fields.contentType = this.#contentType.read(bytes, start, at)
    }
    if ((flags & CONTENT_ENCODING) !== 0) {
      const start = at + 1
      at = start + bytes[at]!
      fields.contentEncoding = bytes.toString('utf8', start, at)
    }
    if ((flags & HEADERS) !== 0) {
      if (at + 4 > end) return undefined
      const start = at + 4
      at = start + u32(bytes, at)
      if (at > end) return undefined
      const headers = this.#table(bytes, start, at)
      if (headers === undefined) return undefined
      fields.headers = headers
    }
    if ((flags & DELIVERY_MODE) !== 0) fields.deliveryMode = bytes[at++]
    if ((flags & PRIORITY) !== 0) fields.priority = bytes[at++]
    if ((flags & CORRELATION_ID) !== 0) {
      const start = at + 1
      at = start + bytes[at]!
      fields.correlationId = bytes.toString('utf8', start, at)
    }
    if ((flags & REPLY_TO) !== 0) {
      const start = at + 1
      at = start + bytes[at]!
      fields.replyTo = bytes.toString('utf8', start, at)
    }
    if ((flags & EXPIRATION) !== 0) {
      const start = at + 1
      at = start + bytes[at]!
      fields.expiration = bytes.toString('utf8', start, at)
    }
    if ((flags & MESSAGE_ID) !== 0) {
      const start = at + 1
      at = start + bytes[at]!
      fields.messageId = bytes.toString('utf8', start, at)
    }
    if ((flags & TIMESTAMP) !== 0) {
      if (at + 8 > end) return undefined
      fields.timestamp = u64(bytes, at)
      at += 8
    }
    if (at !== end) return undefined
    return { id: BASIC, channel, size: i64(bytes, from + 4), fields }
  }

  /** Undefined: a value of a type that hardly any header has. */
  #table(bytes: Buffer, from: number, end: number): object | undefined {
    const table: Record<string, unknown> = {}
    let at = from
    for (let index = 0; at < end; index++) {
      if (index === MAX_NAMES) return undefined
      const name = at + 1
      at = name + bytes[at]!
      if (at >= end) return undefined
      const key = this.#name(index).read(bytes, name, at)
      // Assigned, it would be the prototype.
      if (key === '__proto__') return undefined
      switch (bytes[at++]) {
        case 0x62: // b
          table[key] = (bytes[at++]! << 24) >> 24
          break
        case 0x53: {
          // S
          if (at + 4 > end) return undefined
          const start = at + 4
          at = start + u32(bytes, at)
          if (at > end) return undefined
          table[key] = bytes.toString('utf8', start, at)
          break
        }
        case 0x74: // t
          table[key] = bytes[at++] !== 0
          break
        case 0x73: // s
          table[key] = (u16(bytes, at) << 16) >> 16
          at += 2
          break
        case 0x49: // I
          table[key] = u32(bytes, at) | 0
          at += 4
          break
        case 0x6c: // l
          table[key] = i64(bytes, at)
          at += 8
          break
        default:
          return undefined
      }
    }
    return at === end ? table : undefined
  }

  #name(index: number): LastText {
    this.#names[index] ??= new LastText()
    return this.#names[index]
  }
}

const u16 = (bytes: Buffer, at: number): number => (bytes[at]! << 8) | bytes[at + 1]!
const u32 = (bytes: Buffer, at: number): number => bytes[at]! * 0x100_0000 + ((bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!)
const u64 = (bytes: Buffer, at: number): number => u32(bytes, at) * TWO_TO_32 + u32(bytes, at + 4)
const i64 = (bytes: Buffer, at: number): number => (u32(bytes, at) | 0) * TWO_TO_32 + u32(bytes, at + 4)
