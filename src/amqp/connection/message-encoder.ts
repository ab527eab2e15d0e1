import type { PublishOptions } from './client.js'

const BASIC_PUBLISH = 0x3c_0028
const BASIC = 0x3c
const METHOD = 1
const HEADER = 2
const BODY = 3
const FRAME_END = 0xce
/** Type, channel and size. */
const HEAD = 7
/** Class, weight, size of the body and flags. */
const PROPERTIES_HEAD = 14
const PERSISTENT = 2
const TRANSIENT = 1
const MAX_SHORT_TEXT = 255
const TWO_TO_32 = 0x1_0000_0000
/** Of one message with all its frames: the smallest maximum of a frame that a broker may ask for. */
export const MAX_MESSAGE = 4_096

/** Encodes messages as amqplib does, without a Buffer for each part. */
export class MessageEncoder {
  readonly bytes: Buffer
  #at = 0
  /** The message holds what is not known here. */
  #failed = false

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** Writes the frames of a message from `at` on, where there is room for `MAX_MESSAGE`. Returns their end; undefined: amqplib has to encode it. */
  encode(at: number, channel: number, exchange: string, key: string, body: Buffer, options: PublishOptions): number | undefined {
    if (body.length > MAX_MESSAGE) return undefined
    this.#at = at
    this.#failed = false
    this.#method(channel, exchange, key, options.mandatory === true)
    this.#header(channel, body.length, options)
    if (this.#failed || this.#at + HEAD + body.length >= at + MAX_MESSAGE) return undefined
    if (body.length > 0) {
      const start = this.#begin(BODY, channel)
      this.bytes.set(body, this.#at)
      this.#at += body.length
      this.#end(start)
    }
    return this.#at
  }

  #begin(type: number, channel: number): number {
    const start = this.#at
    this.bytes[start] = type
    this.#at = start + 1
    this.#u16(channel)
    this.#at = start + HEAD
    return start
  }

  #end(start: number): void {
    const end = this.#at
    this.bytes[end] = FRAME_END
    this.#at = start + 3
    this.#u32(end - start - HEAD)
    this.#at = end + 1
  }

  #method(channel: number, exchange: string, key: string, mandatory: boolean): void {
    const start = this.#begin(METHOD, channel)
    this.#u32(BASIC_PUBLISH)
    // The ticket.
    this.#u16(0)
    this.#shortText(exchange)
    this.#shortText(key)
    this.#u8(mandatory ? 1 : 0)
    this.#end(start)
  }

  #header(channel: number, size: number, options: PublishOptions): void {
    const { contentType, contentEncoding, headers, persistent, priority, correlationId, replyTo, expiration, messageId, timestamp, type, appId } = options
    const start = this.#begin(HEADER, channel)
    this.#u16(BASIC)
    this.#u16(0)
    this.#u32(0)
    this.#u32(size)
    const flagsAt = this.#at
    this.#at = start + HEAD + PROPERTIES_HEAD
    // In the order of their flags. amqplib sends headers always.
    let flags = 0x2000
    if (this.#optionalText(contentType)) flags |= 0x8000
    if (this.#optionalText(contentEncoding)) flags |= 0x4000
    this.#table(headers)
    if (persistent !== undefined) {
      flags |= 0x1000
      this.#u8(persistent ? PERSISTENT : TRANSIENT)
    }
    if (priority !== undefined) {
      flags |= 0x0800
      if (!Number.isInteger(priority) || priority < 0 || priority > 255) this.#failed = true
      this.#u8(priority)
    }
    if (this.#optionalText(correlationId)) flags |= 0x0400
    if (this.#optionalText(replyTo)) flags |= 0x0200
    if (this.#optionalText(expiration)) flags |= 0x0100
    if (this.#optionalText(messageId)) flags |= 0x0080
    if (timestamp !== undefined) {
      flags |= 0x0040
      if (!Number.isSafeInteger(timestamp) || timestamp < 0) this.#failed = true
      this.#i64(timestamp)
    }
    if (this.#optionalText(type)) flags |= 0x0020
    if (this.#optionalText(appId)) flags |= 0x0008
    const end = this.#at
    this.#at = flagsAt
    this.#u16(flags)
    this.#at = end
    this.#end(start)
  }

  #table(table: PublishOptions['headers']): void {
    const start = this.#at
    this.#at += 4
    for (const name in table) {
      const value = table[name]
      if (value === undefined) continue
      this.#shortText(name)
      this.#value(value)
    }
    const end = this.#at
    this.#at = start
    this.#u32(end - start - 4)
    this.#at = end
  }

  #value(value: unknown): void {
    if (typeof value === 'string') {
      this.#u8(0x53) // S
      const start = this.#at
      this.#at += 4
      this.#text(value)
      const end = this.#at
      this.#at = start
      this.#u32(end - start - 4)
      this.#at = end
    } else if (typeof value === 'boolean') {
      this.#u8(0x74) // t
      this.#u8(value ? 1 : 0)
    } else if (Number.isSafeInteger(value)) this.#integer(value as number)
    else this.#failed = true
  }

  #integer(value: number): void {
    if (value < 0x80 && value >= -0x80) {
      this.#u8(0x62) // b
      this.#u8(value)
    } else if (value < 0x8000 && value >= -0x8000) {
      this.#u8(0x73) // s
      this.#u16(value)
    } else if (value < 0x8000_0000 && value >= -0x8000_0000) {
      this.#u8(0x49) // I
      this.#u32(value)
    } else {
      this.#u8(0x6c) // l
      this.#i64(value)
    }
  }

  /** False: there is none. */
  #optionalText(text: string | undefined): boolean {
    if (text === undefined) return false
    this.#shortText(text)
    return true
  }

  #shortText(text: string): void {
    const start = this.#at++
    this.#text(text)
    const size = this.#at - start - 1
    if (size > MAX_SHORT_TEXT) this.#failed = true
    this.bytes[start] = size
  }

  /** What does not fit is not written, and found by the length of the message. */
  #text(text: string): void {
    if (typeof text !== 'string') {
      this.#failed = true
      return
    }
    const bytes = this.bytes
    const at = this.#at
    const { length } = text
    if (length > MAX_MESSAGE) {
      this.#failed = true
      return
    }
    // A loop, because a call into Node costs more.
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code > 0x7f) {
        this.#at = at + Buffer.byteLength(text)
        if (this.#at <= bytes.length) bytes.write(text, at)
        return
      }
      bytes[at + i] = code
    }
    this.#at = at + length
  }

  #u8(value: number): void {
    this.bytes[this.#at++] = value
  }

  #u16(value: number): void {
    const bytes = this.bytes
    const at = this.#at
    bytes[at] = value >> 8
    bytes[at + 1] = value
    this.#at = at + 2
  }

  #u32(value: number): void {
    const bytes = this.bytes
    const at = this.#at
    bytes[at] = value >> 24
    bytes[at + 1] = value >> 16
    bytes[at + 2] = value >> 8
    bytes[at + 3] = value
    this.#at = at + 4
  }

  #i64(value: number): void {
    this.#u32(Math.floor(value / TWO_TO_32))
    this.#u32(value % TWO_TO_32)
  }
}
