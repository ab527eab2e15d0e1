import { describe, expect, it } from 'vitest'
import { noteStamp, PLACE_BYTES } from '../../../src/wire/arena/place.js'
import { PlaceReader } from '../../../src/wire/arena/place-reader.js'
import { decode, encode } from '../../../src/wire/codec/index.js'
import { FRAME_HEAD } from '../../../src/wire/frame.js'
import { Kind } from '../../../src/wire/messages.js'
import { FrameOutput, NO_JOB } from '../../../src/worker/io/frame-output.js'
import { ResultPlaces } from '../../../src/worker/io/places.js'
import { MemoryFile } from '../../wire/arena/memory-file.js'
import { type Frame, FrameCutter } from '../loop-harness.js'

const JOB = { attempt: 1, delivery: 3, number: 9 }
const CAPACITY = 100_000

const setUp = () => {
  const jobs = new MemoryFile(CAPACITY)
  const results = new MemoryFile(CAPACITY)
  const cutter = new FrameCutter()
  const frames: Frame[] = []
  const output = new FrameOutput((chunks) => frames.push(...cutter.take(Buffer.concat(chunks))), new ResultPlaces(jobs, results, CAPACITY, 1 << 20, 1_000))
  const reader = new PlaceReader(results, CAPACITY, 1 << 20)
  const put = (value: unknown, job = JOB): Frame => {
    output.put(Kind.READY, 0, job, encode(value, FRAME_HEAD))
    output.flush()
    return frames.at(-1)!
  }
  const contentOf = (frame: Frame): unknown => decode(reader.complete(frame.payload, 0, frame.payload.length, 0), 0)
  return { jobs, results, put, contentOf, reader }
}

describe('results by place', () => {
  it.each([
    ['a large string', 'x'.repeat(5_000)],
    ['a large Buffer', Buffer.alloc(20_000, 7)],
    ['many of both', { texts: ['y'.repeat(3_000)], buffers: [Buffer.alloc(9_000, 1), Buffer.alloc(10, 2), Buffer.alloc(12_000, 3)] }],
  ])('carry %s, and its frame the place alone', (_what, value) => {
    const { put, contentOf } = setUp()
    const frame = put(value)
    expect(frame).toMatchObject({ kind: Kind.READY, flags: 128, delivery: 3, job: 9, attempt: 1 })
    expect(frame.payload).toHaveLength(PLACE_BYTES)
    expect(contentOf(frame)).toEqual(value)
  })

  it('keep what they were when the task changes a Buffer after that', () => {
    const { put, contentOf } = setUp()
    const bytes = Buffer.alloc(20_000, 7)
    const frame = put(bytes)
    bytes.fill(8)
    expect(contentOf(frame)).toEqual(Buffer.alloc(20_000, 7))
  })

  it('are those of jobs alone: a host whose worker runs none may free all of it', () => {
    const { put, results } = setUp()
    expect(put(Buffer.alloc(20_000, 7), NO_JOB).flags).toBe(0)
    expect(results.calls).toEqual([])
  })

  it('go through the pipe while the host has not read enough of the earlier ones, and by place again when it has', () => {
    const { put, contentOf, reader, jobs } = setUp()
    const value = Buffer.alloc(40_000, 5)
    const sent = [put(value), put(value), put(value)]
    expect(sent.map(({ flags }) => flags)).toEqual([128, 128, 0])
    expect(contentOf(sent[0]!)).toEqual(value)
    noteStamp(jobs, reader.stamp)
    const next = put(Buffer.alloc(40_000, 6))
    expect(next.flags).toBe(128)
    expect(contentOf(sent[1]!)).toEqual(value)
    expect(contentOf(next)).toEqual(Buffer.alloc(40_000, 6))
  })

  it('go through the pipe when there is no memory', () => {
    const { put, results } = setUp()
    results.isFull = true
    const frame = put(Buffer.alloc(40_000, 5))
    expect(frame.flags).toBe(0)
    expect(decode(frame.payload, 0)).toEqual(Buffer.alloc(40_000, 5))
  })
})

it('a result may hold more Buffers than a call takes arguments', () => {
  const binaries = Array.from({ length: 200_000 }, () => Buffer.from('x'))
  let written = 0
  const output = new FrameOutput((chunks) => {
    written += chunks.length
  })
  output.put(Kind.READY, 0, JOB, { body: Buffer.alloc(FRAME_HEAD), binaries, size: binaries.length })
  output.flush()
  expect(written).toBe(200_001)
})
