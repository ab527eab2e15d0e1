import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ProtocolError } from '../../src/wire/errors.js'
import { FIXED_BYTES } from '../../src/wire/frame.js'
import { frameReader } from '../../src/wire/frame-reader.js'

const MAX = 1_000

const frame = (body: Uint8Array): Buffer => {
  const head = Buffer.alloc(4)
  head.writeUInt32LE(body.length)
  return Buffer.concat([head, body])
}

/** The bodies of the frames in these chunks. */
const read = (chunks: readonly Buffer[], max = MAX, isOver?: () => boolean): Buffer[] => {
  const bodies: Buffer[] = []
  const reader = frameReader((bytes, start, end) => bodies.push(bytes.subarray(start, end)), max, isOver)
  reader.next()
  for (const chunk of chunks) {
    let { value } = reader.next(chunk)
    while (value === true) ({ value } = reader.next(Buffer.alloc(0)))
  }
  return bodies
}

const cutAt = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [0, ...[...cuts].sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((place, i) => bytes.subarray(places[i], place))
}

const body = fc.uint8Array({ minLength: FIXED_BYTES, maxLength: 200 })

describe('the frame reader', () => {
  test('gives the same frames in many turns', () => {
    const bodies = [1, 2, 3, 4].map((n) => Buffer.alloc(FIXED_BYTES + n, n))
    const bytes = Buffer.concat(bodies.map(frame))
    let asked = 0
    expect(read(cutAt(bytes, [30, 31]), MAX, () => ++asked > 0)).toEqual(bodies)
    expect(asked).toBeGreaterThan(0)
  })

  test('gives the same frames for any chunks into which they are cut', () => {
    const cuts = fc.array(fc.nat({ max: 3_000 }), { maxLength: 60 })
    fc.assert(
      fc.property(fc.array(body, { maxLength: 12 }), cuts, (bodies, places) => {
        const bytes = Buffer.concat(bodies.map(frame))
        const chunks = cutAt(
          bytes,
          places.map((place) => place % (bytes.length + 1)),
        )
        expect(read(chunks)).toEqual(bodies.map((each) => Buffer.from(each)))
      }),
    )
  })

  test('reads two frames cut at every byte, and byte by byte', () => {
    const bodies = [Buffer.alloc(FIXED_BYTES, 1), Buffer.from('the body of the second frame')]
    const bytes = Buffer.concat(bodies.map(frame))
    for (let at = 0; at <= bytes.length; at++) expect(read(cutAt(bytes, [at]))).toEqual(bodies)
    expect(read([...bytes].map((byte) => Buffer.of(byte)))).toEqual(bodies)
  })

  test('reads a hundred frames in one chunk without a copy', () => {
    const bodies = Array.from({ length: 100 }, (_, i) => Buffer.alloc(FIXED_BYTES + i, i))
    const chunk = Buffer.concat(bodies.map(frame))
    const read100 = read([chunk])
    expect(read100).toEqual(bodies)
    for (const each of read100) expect(each.buffer).toBe(chunk.buffer)
  })

  test('a body over many chunks is allocated once, apart from the pool of small buffers', () => {
    const whole = Buffer.alloc(900, 7)
    const bytes = frame(whole)
    const chunks = cutAt(bytes, [10, 200, 500])
    const [got] = read(chunks)
    expect(got).toEqual(whole)
    expect(got!.buffer.byteLength).toBe(900)
    // It does not change when the stream uses its buffer again.
    for (const chunk of chunks) chunk.fill(0)
    expect(got).toEqual(whole)
  })

  test('a chunk ends with a body, or within the next header: nothing is read twice', () => {
    const [a, b] = [Buffer.alloc(20, 1), Buffer.alloc(20, 2)]
    const bytes = Buffer.concat([frame(a), frame(b)])
    expect(read(cutAt(bytes, [5, 24, 26, 30]))).toEqual([a, b])
    expect(read([Buffer.alloc(0), ...cutAt(bytes, [24, 24]), Buffer.alloc(0)])).toEqual([a, b])
  })

  test.each([
    ['the smallest', FIXED_BYTES],
    ['the largest', MAX],
  ])('takes %s body', (_, length) => {
    expect(read([frame(Buffer.alloc(length, 9))])).toEqual([Buffer.alloc(length, 9)])
  })

  test.each([
    ['of length 0', 0],
    ['below the fixed part', FIXED_BYTES - 1],
    ['over the limit', MAX + 1],
    ['of a length that is noise', 0xffff_ffff],
  ])('refuses a body %s, as soon as its header is there', (_, length) => {
    const head = Buffer.alloc(4)
    head.writeUInt32LE(length)
    expect(() => read([head])).toThrow(ProtocolError)
    expect(() => read([head])).toThrow(`A frame of ${length} bytes: a body has ${FIXED_BYTES} to ${MAX} bytes.`)
  })

  test('what came before a bad header has been read', () => {
    const bodies: number[] = []
    const reader = frameReader((_, start, end) => bodies.push(end - start), MAX)
    reader.next()
    expect(() => reader.next(Buffer.concat([frame(Buffer.alloc(20)), Buffer.alloc(4)]))).toThrow(ProtocolError)
    expect(bodies).toEqual([20])
    expect(reader.next(Buffer.alloc(1)).done).toBe(true)
  })
})
