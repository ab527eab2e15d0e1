import { describe, expect, test } from 'vitest'
import { Hub, type ReadGenerator } from '../../src/hub/index.js'
import { FakeClock, FakeReadable } from './fakes.js'

const setUp = (generator?: ReadGenerator | ((hub: Hub) => ReadGenerator)) => {
  const clock = new FakeClock()
  const hub = new Hub(clock)
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
  const reader = hub.addReader(stream, typeof generator === 'function' ? generator(hub) : (generator ?? collect()), (error) => ends.push(error))
  return { clock, hub, stream, reader, seen, ends }
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

describe('a reader whose chunk takes longer than a turn', () => {
  /** Handles one part for each byte, which takes `ms`. At the byte `x` it fails. */
  const slow = (ms: number, parts: string[], clock: () => FakeClock, onPart: (part: string) => void = () => {}) =>
    function* (hub: Hub): ReadGenerator {
      for (;;) {
        const chunk = yield
        for (const [index, byte] of chunk.entries()) {
          const part = String.fromCharCode(byte)
          if (part === 'x') throw new Error('not a part')
          clock().time += ms
          parts.push(part)
          onPart(part)
          if (index < chunk.length - 1 && hub.isTurnOver()) yield true
        }
      }
    }
  const slowReader = (ms: number, onPart?: (part: string) => void) => {
    const parts: string[] = []
    const box: { clock?: FakeClock } = {}
    const made = setUp(slow(ms, parts, () => box.clock!, onPart))
    box.clock = made.clock
    return { ...made, parts }
  }
  const LONG = 'a'.repeat(50)

  test('goes on in the next turn of the loop, and its stream waits', () => {
    const { clock, stream, parts } = slowReader(1)
    stream.bring(LONG)
    expect([parts.length, stream.paused]).toEqual([16, true])
    clock.poll()
    expect([parts.length, stream.paused]).toEqual([32, true])
    clock.poll()
    clock.poll()
    expect([parts.length, stream.paused, clock.polls]).toEqual([50, false, 0])
  })

  test('handles what takes less in one turn', () => {
    const { clock, stream, parts } = slowReader(0.03)
    stream.bring(LONG)
    expect([parts.length, stream.paused, clock.polls]).toEqual([50, false, 0])
  })

  test('handles the rest at once when its stream ends', () => {
    const { clock, stream, parts, ends } = slowReader(1)
    stream.bring(LONG)
    stream.emit('close')
    expect([parts.length, ends]).toEqual([50, [undefined]])
    clock.pollUntilQuiet()
    expect(parts).toHaveLength(50)
  })

  test('handles the rest when its stream ends while a part is handled', () => {
    const box: { stream?: FakeReadable } = {}
    const made = slowReader(1, (part) => part === 'e' && box.stream!.emit('close'))
    box.stream = made.stream
    made.stream.bring(`${LONG}e${LONG}`)
    made.clock.pollUntilQuiet()
    expect([made.parts.length, made.ends, made.clock.polls]).toEqual([101, [undefined], 0])
  })

  test.each(['later', 'at the end'])("ends with the generator's error, when it fails %s", (when) => {
    const { clock, stream, parts, ends } = slowReader(1)
    stream.bring(`${LONG}x`)
    if (when === 'at the end') stream.emit('end')
    clock.pollUntilQuiet()
    expect(parts).toHaveLength(50)
    expect(ends).toEqual([new Error('not a part')])
  })

  test('handles nothing more after stop', () => {
    const { clock, stream, reader, parts } = slowReader(1)
    stream.bring(LONG)
    reader.stop()
    clock.pollUntilQuiet()
    expect(parts).toHaveLength(16)
  })

  test('is waited for by whoever waits until all is read', () => {
    const { clock, hub, stream, reader, parts } = slowReader(1)
    stream.bring(LONG)
    let left = -1
    hub.whenReadEmpty(
      () => [reader],
      () => {
        left = 50 - parts.length
      },
    )
    clock.pollUntilQuiet()
    expect(left).toBe(0)
  })

  test('keeps what its stream brings in between: Node resumes the streams of a process that exits', () => {
    const { clock, stream, reader, parts } = slowReader(1)
    stream.bring(LONG)
    stream.resume()
    stream.bring('bcd')
    stream.bring('e')
    expect([parts.length, stream.paused, reader.bytes, clock.polls]).toEqual([16, true, 54, 1])
    clock.pollUntilQuiet()
    expect([parts.join(''), stream.paused]).toEqual([`${LONG}bcde`, false])
  })

  test.each([undefined, new Error('ECONNRESET')])('handles all of that when its stream ends: %s', (error) => {
    const { stream, parts, ends } = slowReader(1)
    stream.bring(LONG)
    stream.bring('bcd')
    if (error === undefined) stream.emit('end')
    else stream.emit('error', error)
    expect([parts.join(''), ends]).toEqual([`${LONG}bcd`, [error]])
  })

  test('has no more time for chunks that follow each other at once', () => {
    const { clock, stream, parts } = slowReader(0.03)
    for (let chunk = 0; chunk < 4; chunk++) stream.bring('a'.repeat(40))
    // 67 parts take 2 ms; the clock is read after each 16 parts of a chunk.
    expect([parts.length, stream.paused]).toEqual([72, true])
    clock.pollUntilQuiet()
    expect([parts.length, stream.paused]).toEqual([160, false])
  })

  test('has its time again after a tick', () => {
    const { clock, hub, stream, parts } = slowReader(0.03)
    for (let chunk = 0; chunk < 4; chunk++) {
      stream.bring('a'.repeat(40))
      hub.wake()
      clock.poll()
    }
    expect([parts.length, stream.paused]).toEqual([160, false])
  })
})
