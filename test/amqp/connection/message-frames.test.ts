import { nextTick } from 'node:process'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { AmqpChannel, PublishOptions } from '../../../src/amqp/connection/client.js'
import { publishOn } from '../../../src/amqp/connection/message-frames.js'
import { ConfirmChannel, Connection, defs } from './amqplib-internals.js'

type Channel = AmqpChannel & { ch: number; unconfirmed: unknown[]; sendImmediately(method: number, fields: object): void; connection: TestConnection }
type TestConnection = { channels: unknown[]; sentSinceLastCheck: boolean; written: Buffer[]; sendMessage(): boolean }

/** A connection of amqplib without a socket. `written`: what its channels have given to it, write by write. */
const newConnection = (): TestConnection =>
  Object.create(Connection.prototype, {
    channels: { value: [] },
    sentSinceLastCheck: { value: false, writable: true },
    written: { value: [] },
    frameMax: { value: 131_072 },
  })

const newChannel = (ch = 1, connection = newConnection()): Channel => {
  connection.channels[ch] = { buffer: { write: (bytes: Buffer) => connection.written.push(bytes) > 0, writableNeedDrain: false } }
  return Object.create(ConfirmChannel.prototype, { ch: { value: ch }, connection: { value: connection }, unconfirmed: { value: [], writable: true } })
}

const endOfTick = promisify(nextTick)
const done = (): void => {}

/** What a channel of amqplib writes for a message, or the error. */
const byAmqplib = (key: string, body: Buffer, options: PublishOptions): Buffer | string => {
  const channel = newChannel()
  try {
    channel.publish('', key, body, options, done)
  } catch (error) {
    return String(error)
  }
  return Buffer.concat(channel.connection.written)
}

const byBatch = async (key: string, body: Buffer, options: PublishOptions): Promise<Buffer | string> => {
  const channel = newChannel()
  const { publish, batched } = publishOn(channel)
  expect(batched).toBe(true)
  try {
    publish('', key, body, options, done)
  } catch (error) {
    return String(error)
  }
  await endOfTick()
  expect(channel.unconfirmed).toEqual([done])
  return Buffer.concat(channel.connection.written)
}

const shortText = fc.oneof(fc.constantFrom('', 'application/msgpack', '\u00e9'), fc.string({ unit: 'binary', maxLength: 60 }), fc.string({ minLength: 250 }))
const value = fc.oneof(
  shortText,
  fc.boolean(),
  fc.integer({ min: -140, max: 140 }),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double(),
  fc.constantFrom(-0, 0x7fff_ffff, -0x8000_0000, 0x8000, undefined, null),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.record({ kind: fc.constant('fixed'), delay: fc.nat() }),
  fc.string({ minLength: 4_000, maxLength: 5_000 }),
)
const options: fc.Arbitrary<PublishOptions> = fc.record(
  {
    ...{ contentType: shortText, contentEncoding: shortText, correlationId: shortText, replyTo: shortText, expiration: shortText, messageId: shortText },
    ...{ type: shortText, appId: shortText, persistent: fc.boolean(), mandatory: fc.boolean() },
    priority: fc.integer({ min: -1, max: 256 }),
    timestamp: fc.oneof(fc.maxSafeInteger(), fc.nat()),
    headers: fc.dictionary(fc.oneof(fc.constantFrom('attempt', '__proto__', 'é'), fc.string({ maxLength: 12 })), value, { maxKeys: 8 }),
  },
  { requiredKeys: [] },
)
const body = fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.uint8Array({ minLength: 3_800, maxLength: 4_400 })).map((bytes) => Buffer.from(bytes))

describe('a message', () => {
  test('has the bytes, or the error, that it has from amqplib', async () => {
    await fc.assert(
      fc.asyncProperty(shortText, body, options, async (key, content, given) => {
        const theirs = byAmqplib(key, content, given)
        expect(await byBatch(key, content, given)).toStrictEqual(theirs)
      }),
    )
  })

  test('is written together with the others of its turn, however many they are', async () => {
    const channel = newChannel()
    const { publish } = publishOn(channel)
    const bodies = Array.from({ length: 1_000 }, (_, n) => Buffer.from(`body ${n}`))
    for (const each of bodies) publish('', 'q', each, {}, done)
    await endOfTick()
    const { written, sentSinceLastCheck } = channel.connection
    expect(written.length).toBeLessThan(5)
    expect(Buffer.concat(written)).toStrictEqual(Buffer.concat(bodies.map((each) => byAmqplib('q', each, {}) as Buffer)))
    expect(sentSinceLastCheck).toBe(true)
    expect(channel.unconfirmed).toHaveLength(bodies.length)
  })

  test('keeps its place among messages that amqplib writes, methods, and other channels', async () => {
    const connection = newConnection()
    const channels = [newChannel(1, connection), newChannel(2, connection)] as const
    const [first, second] = [publishOn(channels[0]), publishOn(channels[1])]
    const [small, large] = [Buffer.from('small'), Buffer.alloc(9_000)]
    const sent: Buffer[] = []
    const messageOf = (ch: number, content: Buffer): Buffer => {
      const alone = newChannel(ch)
      alone.publish('', 'q', content, {}, done)
      return Buffer.concat(alone.connection.written)
    }
    const ack = { deliveryTag: 1, multiple: false }
    for (const step of [1, 2, 1, 'large', 1, 'method', 2, 2, 1] as const) {
      if (step === 'method') {
        channels[0].sendImmediately(defs.BasicAck, ack)
        sent.push(defs.encodeMethod(defs.BasicAck, 1, ack))
      } else if (step === 'large') {
        first.publish('', 'q', large, {}, done)
        sent.push(messageOf(1, large))
      } else {
        ;(step === 1 ? first : second).publish('', 'q', small, {}, done)
        sent.push(messageOf(step, small))
      }
    }
    await endOfTick()
    expect(Buffer.concat(connection.written)).toStrictEqual(Buffer.concat(sent))
  })

  test('is not sent on another channel that has got the number of its own', async () => {
    const connection = newConnection()
    publishOn(newChannel(1, connection)).publish('', 'q', Buffer.from('old'), {}, done)
    const { publish } = publishOn(newChannel(1, connection))
    publish('', 'q', Buffer.from('new'), {}, done)
    await endOfTick()
    expect(Buffer.concat(connection.written)).toStrictEqual(byAmqplib('q', Buffer.from('new'), {}))
  })

  test('is refused as amqplib refuses it when the channel is closed', () => {
    const channel = newChannel()
    const { publish } = publishOn(channel)
    const closed = new Error('closed')
    Object.assign(channel, {
      sendMessage: () => {
        throw closed
      },
    })
    expect(() => publish('', 'q', Buffer.from('x'), {}, done)).toThrow(closed)
    expect(channel.unconfirmed).toEqual([])
  })

  test('tells that the socket is behind', () => {
    const channel = newChannel()
    const { publish } = publishOn(channel)
    const { buffer } = channel.connection.channels[1] as { buffer: { writableNeedDrain: boolean } }
    expect(publish('', 'q', Buffer.from('x'))).toBe(true)
    buffer.writableNeedDrain = true
    expect(publish('', 'q', Buffer.from('x'))).toBe(false)
  })
})

describe('another amqplib', () => {
  test('publishes itself where it writes a message otherwise', () => {
    const channel = newChannel()
    const { sendMessage } = channel.connection
    const other = vi.fn(function (this: TestConnection, ...args: []) {
      ;(this.channels[1] as { buffer: { write(bytes: Buffer): unknown } }).buffer.write(Buffer.from('more'))
      return sendMessage.apply(this, args)
    })
    channel.connection.sendMessage = other
    const { publish, batched } = publishOn(channel)
    expect(batched).toBe(false)
    other.mockClear()
    publish('', 'q', Buffer.from('x'), {}, done)
    expect(other).toHaveBeenCalledOnce()
  })

  test('publishes itself where a channel has other parts', () => {
    const publish = vi.fn(() => true)
    const { publish: used, batched } = publishOn({ publish } as unknown as AmqpChannel)
    expect(batched).toBe(false)
    used('', 'q', Buffer.from('x'), {}, done)
    expect(publish).toHaveBeenCalledWith('', 'q', Buffer.from('x'), {}, done)
  })
})
