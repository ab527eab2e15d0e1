import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FLAG_PLACED, PLACE_BYTES } from '../../src/wire/arena/place.js'
import { PlaceWriter } from '../../src/wire/arena/place-writer.js'
import { FIRST_PAGE } from '../../src/wire/arena/shared-file.js'
import { FIXED_BYTES, JOB_FIXED_BYTES } from '../../src/wire/frame.js'
import { FrameWriter, type JobHead } from '../../src/wire/frame-writer.js'
import { Kind } from '../../src/wire/messages.js'
import { runs } from '../fixtures/runs.js'
import { FakeWritable } from '../hub/fakes.js'
import { MemoryFile } from './arena/memory-file.js'

const setUp = () => {
  const stream = new FakeWritable()
  const writer = new FrameWriter()
  const generator = writer.generator(stream)
  const states: string[] = []
  const run = (): string => {
    const state = generator.next().value
    states.push(state)
    return state
  }
  stream.on('drain', run)
  return { stream, writer, run, states }
}

const head = (delivery: number): JobHead => ({ delivery, job: delivery + 2 ** 40, attempt: 2, flags: 3, task: 513, softLimit: 70_000, hardLimit: 80_000 })

/** The frame's bytes, coded a second time. */
const expectedFrame = (kind: number, flags: number, attempt: number, delivery: number, job: number, payload: Uint8Array): Buffer => {
  const out = Buffer.alloc(20)
  out.writeUInt32LE(FIXED_BYTES + payload.length, 0)
  out.writeUInt8(kind, 4)
  out.writeUInt8(flags, 5)
  out.writeUInt16LE(attempt, 6)
  out.writeUInt32LE(delivery, 8)
  out.writeDoubleLE(job, 12)
  return Buffer.concat([out, payload])
}

const expectedJob = ({ delivery, job, attempt, flags, task, softLimit, hardLimit }: JobHead, parts: readonly Uint8Array[]): Buffer => {
  const added = Buffer.alloc(JOB_FIXED_BYTES - FIXED_BYTES)
  added.writeUInt16LE(task, 0)
  added.writeUInt32LE(softLimit, 4)
  added.writeUInt32LE(hardLimit, 8)
  return expectedFrame(Kind.JOB, flags, attempt, delivery, job, Buffer.concat([added, ...parts]))
}

const sizeOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, part) => sum + part.length, 0)

/** Sizes around the limits of copying and staging. */
const size = fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 300 }) }, fc.constantFrom(0, 8_191, 8_192, 8_193, 20_000, 65_516, 65_536, 70_000))
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('job' as const), sizes: fc.array(size, { maxLength: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('frame' as const), size: fc.option(size, { nil: undefined }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wake' as const), takes: fc.constantFrom(0, 1, 100, 5_000, 65_536, Number.POSITIVE_INFINITY) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('drain' as const) }) },
)

describe('the frame writer', () => {
  test('a stream that refuses at random gets exactly the bytes, in order', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const { stream, writer, run, states } = setUp()
        const expected: Buffer[] = []
        let fill = 0
        const bytes = (length: number): Buffer => Buffer.alloc(length, ++fill)
        for (const [i, each] of steps.entries()) {
          if (each.do === 'job') {
            const parts = each.sizes.map(bytes)
            writer.job(head(i), parts, sizeOf(parts))
            expected.push(expectedJob(head(i), parts))
          } else if (each.do === 'frame') {
            const payload = each.size === undefined ? undefined : bytes(each.size)
            writer.frame(Kind.CANCEL, 1, i, 7, payload)
            expected.push(expectedFrame(Kind.CANCEL, 1, 0, i, 7, payload ?? Buffer.alloc(0)))
          } else if (each.do === 'wake') {
            stream.takes = () => each.takes
            // The hub does not wake a writer that is full.
            if (states.at(-1) !== 'full') run()
            expect(states.at(-1)).toBe(stream.writableLength > 0 ? 'full' : 'idle')
          } else stream.drain()
        }
        stream.takes = () => Number.POSITIVE_INFINITY
        stream.drain()
        if (states.at(-1) !== 'full') run()
        const all = Buffer.concat(expected)
        expect(stream.bytes.equals(all)).toBe(true)
        expect([writer.empty, writer.bytes, states.at(-1)]).toEqual([true, all.length, states.length === 0 ? undefined : 'idle'])
      }),
      { numRuns: runs(300, 150) },
    )
  })

  test('the frames of one tick are one write', () => {
    const { stream, writer, run } = setUp()
    for (let i = 1; i <= 50; i++) writer.job(head(i), [Buffer.alloc(30, i)], 30)
    writer.frame(Kind.QUIT, 0, 0, 0)
    expect(writer.empty).toBe(false)
    expect(run()).toBe('idle')
    expect([stream.parts.length, writer.writes]).toEqual([1, 1])
    expect(run()).toBe('idle')
    expect(writer.writes).toBe(1)
  })

  test('large payloads are written as they are, small ones are copied behind their head', () => {
    const { stream, writer, run } = setUp()
    const [small, large] = [Buffer.alloc(8 * 1024, 1), Buffer.alloc(8 * 1024 + 1, 2)]
    writer.job(head(1), [small, large, small], sizeOf([small, large, small]))
    run()
    expect(stream.parts).toHaveLength(3)
    expect(stream.parts[1]).toBe(large)
    expect([stream.corks, writer.writes]).toEqual([0, 1])
    expect(stream.bytes.equals(expectedJob(head(1), [small, large, small]))).toBe(true)
  })

  test('a large payload that finds a place is not written: its frame has the place', () => {
    const { stream, writer, run } = setUp()
    const file = new MemoryFile(20_000)
    writer.places = new PlaceWriter(file, 20_000, 1_000)
    const parts = [Buffer.alloc(500, 1), Buffer.alloc(7_000, 2)]
    writer.job(head(1), parts, 7_500)
    writer.job(head(2), [parts[0]!], 500)
    writer.flagJob(4)
    writer.job(head(3), [Buffer.alloc(9_000, 3)], 9_000)
    writer.job(head(4), [Buffer.alloc(9_000, 4)], 9_000)
    run()
    const byPlace = (of: JobHead, position: number, bytes: number, stamp: number): Buffer => {
      const place = Buffer.alloc(PLACE_BYTES)
      for (const [i, value] of [position, bytes, stamp].entries()) place.writeUInt32LE(value, 4 * i)
      return expectedJob({ ...of, flags: of.flags | FLAG_PLACED }, [place])
    }
    const pipe = [
      byPlace(head(1), FIRST_PAGE, 7_500, 1),
      expectedJob({ ...head(2), flags: head(2).flags | 4 }, [parts[0]!]),
      byPlace(head(3), FIRST_PAGE + 7_508, 9_000, 2),
      expectedJob(head(4), [Buffer.alloc(9_000, 4)]),
    ]
    expect(stream.bytes.equals(Buffer.concat(pipe))).toBe(true)
    expect(file.bytes.subarray(FIRST_PAGE + 8, FIRST_PAGE + 7_508)).toEqual(Buffer.concat(parts))
  })

  test('bytes that the stream still holds are not overwritten by later frames', () => {
    const { stream, writer, run } = setUp()
    stream.takes = () => 3
    const expected: Buffer[] = []
    for (let i = 1; i <= 200; i++) {
      const part = Buffer.alloc(1_000, i)
      writer.job(head(i), [part], 1_000)
      expected.push(expectedJob(head(i), [part]))
      if (i === 1) expect(run()).toBe('full')
    }
    stream.takes = () => Number.POSITIVE_INFINITY
    stream.drain()
    expect(stream.bytes.equals(Buffer.concat(expected))).toBe(true)
  })

  test('its staging buffer is used again once the kernel has everything', () => {
    const { stream, writer, run } = setUp()
    for (let i = 0; i < 100; i++) {
      writer.job(head(i), [Buffer.alloc(5_000)], 5_000)
      run()
    }
    expect(new Set(stream.parts.map((part) => part.buffer)).size).toBe(1)
  })

  test('what is gathered in the callback of a write is written, too', () => {
    const { stream, writer, run } = setUp()
    const write = stream.write.bind(stream)
    let answers = 3
    stream.write = (part) => {
      const more = write(part)
      if (answers-- > 0) writer.frame(Kind.PULL, 0, answers, 0)
      return more
    }
    writer.frame(Kind.PULL, 0, 9, 0)
    expect(run()).toBe('idle')
    const deliveries = [9, 2, 1, 0]
    expect(stream.bytes).toEqual(Buffer.concat(deliveries.map((each) => expectedFrame(Kind.PULL, 0, 0, each, 0, Buffer.alloc(0)))))
  })

  test('a stream that returns false, but whose bytes are in the kernel, is not waited for', () => {
    const { stream, writer, run } = setUp()
    const write = stream.write.bind(stream)
    stream.write = (part) => {
      write(part)
      return false
    }
    writer.frame(Kind.QUIT, 0, 0, 0)
    expect(run()).toBe('idle')
  })

  test('urgent frames go before what was gathered, and are made when the stream takes them', () => {
    const stream = new FakeWritable()
    const urgent: Buffer[] = []
    const made: Buffer[] = []
    const next = (): Buffer[] | undefined => {
      const frame = urgent.shift()
      if (frame === undefined) return undefined
      made.push(frame)
      return [frame.subarray(0, 20), frame.subarray(20)]
    }
    const writer = new FrameWriter({ next })
    const generator = writer.generator(stream)
    const run = (): string => generator.next().value
    stream.on('drain', run)
    const reply = (fill: number, bytes = 10): Buffer => expectedFrame(Kind.REPLY, 0, 0, fill, 0, Buffer.alloc(bytes, fill))
    const [first, second, third] = [reply(1), reply(2, 100_000), reply(3)]
    expect(run()).toBe('idle')
    urgent.push(first)
    writer.job(head(1), [Buffer.alloc(9)], 9)
    stream.takes = () => 5
    expect(run()).toBe('full')
    // The stream is full: what comes now waits, as it is.
    urgent.push(second, third)
    writer.job(head(2), [], 0)
    expect(made).toEqual([first])
    stream.takes = () => Number.POSITIVE_INFINITY
    stream.drain()
    const job = (i: number, parts: Buffer[] = []): Buffer => expectedJob(head(i), parts)
    expect(stream.bytes).toEqual(Buffer.concat([first, job(1, [Buffer.alloc(9)]), second, job(2), third]))
    expect(writer.empty).toBe(true)
  })

  test('attempts beyond 16 bits wrap instead of throwing', () => {
    const { stream, writer, run } = setUp()
    writer.job({ ...head(1), attempt: 65_537 }, [], 0)
    run()
    expect(stream.bytes.readUInt16LE(6)).toBe(1)
  })
})
