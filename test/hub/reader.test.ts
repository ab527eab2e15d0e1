import { describe, expect, test } from 'vitest'
import { Hub, type ReadGenerator } from '../../src/hub/index.js'
import { FakeClock, FakeReadable } from './fakes.js'

const setUp = (generator?: ReadGenerator) => {
  const hub = new Hub(new FakeClock())
  const stream = new FakeReadable()
  const seen: string[] = []
  const ends: (Error | undefined)[] = []
  const collect = function* (): ReadGenerator {
    let rest = ''
    try {
      for (;;) {
        rest = String(yield)
        seen.push(rest)
      }
    } finally {
      seen.push(`at the end: ${rest}`)
    }
  }
  const reader = hub.addReader(stream, generator ?? collect(), (error) => ends.push(error))
  return { hub, stream, reader, seen, ends }
}

describe('a reader', () => {
  test('resumes its generator with each chunk, and counts the bytes', () => {
    const { stream, reader, seen } = setUp()
    stream.bring('one')
    stream.bring('three')
    expect(seen).toEqual(['one', 'three'])
    expect(reader.bytes).toBe(8)
  })

  test.each(['end', 'close'])('ends once, at the first %s', (event) => {
    const { hub, stream, reader, seen, ends } = setUp()
    stream.bring('one')
    stream.emit(event)
    stream.emit('end')
    stream.emit('close')
    stream.emit('error', new Error('late'))
    stream.bring('stale')
    expect(ends).toEqual([undefined])
    expect(seen).toEqual(['one', 'at the end: one'])
    expect(reader.ended).toBe(true)
    expect(hub.registered().readers).toBe(0)
  })

  test("ends with the stream's error, and loses nothing that its generator kept", () => {
    const { stream, seen, ends } = setUp()
    const error = new Error('ECONNRESET')
    stream.bring('half a line')
    stream.emit('error', error)
    stream.emit('close')
    expect(ends).toEqual([error])
    expect(seen.at(-1)).toBe('at the end: half a line')
  })

  test("ends with the generator's error, and reads nothing more", () => {
    const error = new Error('not a frame')
    const failing = function* (): ReadGenerator {
      yield
      throw error
    }
    const { hub, stream, reader, ends } = setUp(failing())
    stream.bring('x')
    stream.bring('y')
    stream.emit('close')
    expect(ends).toEqual([error])
    expect(reader.bytes).toBe(1)
    expect(hub.registered().readers).toBe(0)
  })

  test('ignores its stream after stop', () => {
    const { hub, stream, reader, seen, ends } = setUp()
    reader.stop()
    reader.stop()
    stream.bring('stale')
    stream.emit('end')
    stream.emit('error', new Error('stale'))
    expect([seen, ends, reader.bytes, hub.registered().readers]).toEqual([[], [], 0, 0])
  })

  test('ends when its stream closes while a chunk is read', () => {
    const box: { stream?: FakeReadable } = {}
    const closing = function* (): ReadGenerator {
      for (;;) {
        yield
        box.stream?.emit('close')
      }
    }
    const { stream, ends } = setUp(closing())
    box.stream = stream
    stream.bring('x')
    expect(ends).toEqual([undefined])
  })
})
