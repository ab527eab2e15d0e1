import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FrameSource, readDeliveriesInPlace } from '../../../src/amqp/connection/delivery-frames.js'
import { Connection, defs, makeBodyFrame } from './amqplib-internals.js'

const { recvFrame } = Connection.prototype as Pick<FrameSource, 'recvFrame'>

interface Source extends FrameSource {
  /** What the socket has, piece by piece. */
  pieces: Buffer[]
}

const sourceOf = (pieces: readonly Buffer[], maxFrameSize = 0): Source => {
  const source: Source = {
    rest: Buffer.alloc(0),
    pieces: [...pieces],
    stream: { read: () => source.pieces.shift() ?? null },
    maxFrameSize,
    recvSinceLastCheck: false,
    recvFrame,
  }
  return source
}

/** The frames, or the message of the error that reading one has thrown. */
const framesOf = (source: FrameSource): unknown[] => {
  const frames: unknown[] = []
  try {
    for (let frame = source.recvFrame(); frame !== false; frame = source.recvFrame()) frames.push(frame)
  } catch (error) {
    frames.push((error as Error).message)
  }
  return frames
}

const readBoth = (pieces: readonly Buffer[], maxFrameSize?: number) => {
  const ours = sourceOf(pieces, maxFrameSize)
  expect(readDeliveriesInPlace(ours)).toBe(true)
  return { ours: framesOf(ours), theirs: framesOf(sourceOf(pieces, maxFrameSize)) }
}

const shortText = fc.oneof(fc.constantFrom('', 'noop', 'async_farm.jobs', '\u00e9'), fc.string({ unit: 'binary', maxLength: 40 }))
const value = fc.oneof(
  shortText,
  fc.boolean(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.integer({ min: -130, max: 130 }),
  // amqplib takes larger fractions for integers, and fails.
  fc.double({ noNaN: true, min: -(2 ** 49), max: 2 ** 49 }),
  fc.constant(null),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.record({ delay: fc.integer() }),
  fc.record({ '!': fc.constant('timestamp'), value: fc.nat() }),
)
const name = fc.oneof(fc.constantFrom('key', 'attempt', 'losses', '__proto__', ''), fc.string({ maxLength: 12 }))
const properties = fc.record(
  {
    contentType: shortText,
    contentEncoding: shortText,
    headers: fc.dictionary(name, value, { maxKeys: 40 }),
    deliveryMode: fc.constantFrom(1, 2),
    priority: fc.nat(255),
    correlationId: shortText,
    replyTo: shortText,
    expiration: shortText,
    messageId: shortText,
    timestamp: fc.maxSafeInteger().map(Math.abs),
    type: shortText,
    userId: shortText,
    appId: shortText,
  },
  { requiredKeys: [] },
)
const message = fc.record({
  channel: fc.integer({ min: 1, max: 3 }),
  consumerTag: shortText,
  deliveryTag: fc.oneof(fc.nat(), fc.maxSafeInteger().map(Math.abs)),
  redelivered: fc.boolean(),
  exchange: shortText,
  routingKey: shortText,
  properties,
  body: fc.uint8Array({ maxLength: 60 }),
})

const framesFor = ({ channel, properties: fields, body, ...delivery }: typeof message extends fc.Arbitrary<infer M> ? M : never): Buffer[] => [
  defs.encodeMethod(defs.BasicDeliver, channel, delivery),
  defs.encodeProperties(defs.BasicProperties, channel, body.length, fields),
  ...(body.length === 0 ? [] : [makeBodyFrame(channel, Buffer.from(body))]),
  defs.encodeMethod(defs.BasicAck, channel, { deliveryTag: delivery.deliveryTag, multiple: true }),
]

/** The bytes in pieces that end anywhere. */
const cut = (bytes: Buffer, ends: readonly number[]): Buffer[] => {
  const at = [0, ...ends.map((end) => end % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end))
}

describe('deliveries', () => {
  test("have the frames that amqplib's own function reads, wherever the socket cuts them", () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 6 }), fc.array(fc.nat(), { maxLength: 6 }), (messages, ends) => {
        const { ours, theirs } = readBoth(cut(Buffer.concat(messages.flatMap(framesFor)), ends))
        expect(theirs.length).toBeGreaterThan(messages.length)
        expect(ours).toStrictEqual(theirs)
      }),
    )
  })

  test("fail with amqplib's errors where bytes are damaged, and read nothing else than it does", () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 3 }), fc.nat(), fc.nat(255), (messages, at, byte) => {
        const bytes = Buffer.concat(messages.flatMap(framesFor))
        bytes[at % bytes.length] = byte
        const { ours, theirs } = readBoth([bytes], 4_096)
        expect(ours).toStrictEqual(theirs)
      }),
    )
  })

  test('count as activity of the connection', () => {
    const [frame] = framesFor({
      channel: 1,
      consumerTag: 'c',
      deliveryTag: 1,
      redelivered: false,
      exchange: '',
      routingKey: 'q',
      properties: {},
      body: new Uint8Array(0),
    })
    const source = sourceOf([frame!])
    readDeliveriesInPlace(source)
    expect(framesOf(source)).toHaveLength(1)
    expect(source.recvSinceLastCheck).toBe(true)
  })
})

describe('another amqplib', () => {
  test('keeps its own function where that decodes a delivery otherwise', () => {
    const source = sourceOf([])
    const other = function (this: FrameSource) {
      const frame = recvFrame.call(this) as { fields?: object }
      return { ...frame, more: true }
    }
    source.recvFrame = other
    expect(readDeliveriesInPlace(source)).toBe(false)
    expect(source.recvFrame).toBe(other)
  })

  test('keeps it where a connection has other parts', () => {
    const { rest: _, ...without } = sourceOf([])
    expect(readDeliveriesInPlace(without)).toBe(false)
    expect(readDeliveriesInPlace({})).toBe(false)
    expect(without.recvFrame).toBe(recvFrame)
  })
})
