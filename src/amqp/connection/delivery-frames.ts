/**
 * Reads the frames of deliveries. amqplib makes nine Buffers for each message, and decodes the same names again and again: that is a sixth of what a
 * no-op costs a node. Here the frames of a delivery are decoded in place, and texts that are those of the message before are taken from there.
 *
 * This replaces a function inside amqplib's connection. So it is used only where it decodes a sample exactly as that function does, and whatever it
 * does not know goes to that function.
 */
import { isDeepStrictEqual } from 'node:util'

/** A frame as amqplib's channels take it. */
type Frame = object

/** The part of amqplib's internal connection that reads frames. */
export interface FrameSource {
  /** Bytes that are not decoded. */
  rest: Buffer
  readonly stream: { read(): Buffer | null }
  readonly maxFrameSize: number
  /** For the heartbeat. */
  recvSinceLastCheck: boolean
  recvFrame(): Frame | false
}

const METHOD = 1
const HEADER = 2
const BODY = 3
const FRAME_END = 0xce
/** Type, channel and size; and the end. */
const HEAD = 7
const OVERHEAD = HEAD + 1
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

class FrameReader {
  readonly #source: FrameSource
  readonly #original: () => Frame | false
  #bytes: Buffer
  #at = 0
  readonly #consumerTag = new LastText()
  readonly #exchange = new LastText()
  readonly #routingKey = new LastText()
  readonly #contentType = new LastText()
  /** Of headers, by their place. */
  readonly #names: LastText[] = []

  constructor(source: FrameSource, original: () => Frame | false) {
    this.#source = source
    this.#original = original
    this.#bytes = source.rest
  }

  next(): Frame | false {
    for (;;) {
      const bytes = this.#bytes
      const at = this.#at
      const left = bytes.length - at
      if (left >= HEAD) {
        const size = u32(bytes, at + 3)
        const { maxFrameSize } = this.#source
        // amqplib's own function refuses it, with its error.
        if (maxFrameSize > 0 && size > maxFrameSize) return this.#byOriginal(bytes, at, bytes.length)
        if (left >= size + OVERHEAD) {
          const end = at + HEAD + size
          this.#at = end + 1
          return (bytes[end] === FRAME_END && this.#decode(bytes, at, end)) || this.#byOriginal(bytes, at, end + 1)
        }
      }
      const incoming = this.#source.stream.read()
      if (incoming === null) return false
      this.#source.recvSinceLastCheck = true
      this.#bytes = left === 0 ? incoming : Buffer.concat([bytes.subarray(at), incoming])
      this.#at = 0
    }
  }

  #byOriginal(bytes: Buffer, from: number, to: number): Frame | false {
    this.#source.rest = bytes.subarray(from, to)
    return this.#original.call(this.#source)
  }

  /** Undefined: the frame is none of a delivery, or holds what is not known here. */
  #decode(bytes: Buffer, at: number, end: number): Frame | undefined {
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

/** Frames of a delivery that have every property, and a header of every type, that is decoded here. */
const SAMPLE = Buffer.from(
  [
    ['01 0001', '003c003c', '03 c3a974', '0000000100000002', '01', '01 78', '01 71'],
    [
      ['02 0001', '003c 0000 0000000000000002', 'ffc0', '01 6a', '01 67'],
      ['00000028', '01 62 62 ff', '01 53 53 00000002 c3a9', '01 74 74 01', '01 73 73 8001', '01 49 49 80000001', '01 6c 6c 8000000100000001'],
      ['02', '07', '01 63', '01 72', '01 65', '01 6d', '0000000100000003'],
    ].flat(),
    ['03 0001', '7b7d'],
  ]
    .map(([head = '', ...payload]) => {
      const bytes = payload.join('').replaceAll(' ', '')
      return `${head.replaceAll(' ', '')}${(bytes.length / 2).toString(16).padStart(8, '0')}${bytes}ce`
    })
    .join(''),
  'hex',
)
const SAMPLE_FRAMES = 3

const sampleSource = (): FrameSource => ({
  rest: SAMPLE,
  stream: { read: () => null },
  maxFrameSize: SAMPLE.length,
  recvSinceLastCheck: false,
  recvFrame: () => false,
})

/** Whether the frames of the sample are decoded here as `original` decodes them. */
const decodesAlike = (original: () => Frame | false): boolean => {
  try {
    const source = sampleSource()
    const reader = new FrameReader(sampleSource(), () => false)
    for (let i = 0; i < SAMPLE_FRAMES; i++) {
      const frame = reader.next()
      if (frame === false || !isDeepStrictEqual(original.call(source), frame)) return false
    }
    return source.rest.length === 0
  } catch {
    return false
  }
}

let checked: { readonly original: () => Frame | false; readonly alike: boolean } | undefined

/** Replaces the function of an open connection of amqplib that reads frames. Returns false, and changes nothing, for a connection of another kind. */
export const readDeliveriesInPlace = (connection: object): boolean => {
  const source = connection as FrameSource
  const { recvFrame, rest, stream, maxFrameSize } = source as Partial<FrameSource>
  if (typeof recvFrame !== 'function' || !Buffer.isBuffer(rest) || typeof stream?.read !== 'function' || typeof maxFrameSize !== 'number') return false
  if (checked?.original !== recvFrame) checked = { original: recvFrame, alike: decodesAlike(recvFrame) }
  if (!checked.alike) return false
  const reader = new FrameReader(source, recvFrame)
  source.recvFrame = () => reader.next()
  return true
}
