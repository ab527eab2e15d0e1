import { describe, expect, test } from 'vitest'
import { Hub, type WriteGenerator } from '../../src/hub/index.js'
import { FakeClock, FakeWritable } from './fakes.js'

const setUp = () => {
  const hub = new Hub(new FakeClock())
  const stream = new FakeWritable()
  const queue: string[] = []
  const ends: (Error | undefined)[] = []
  const generator = function* (): WriteGenerator {
    for (;;) {
      for (let text = queue.shift(); text !== undefined; text = queue.shift()) {
        if (!stream.write(Buffer.from(text))) yield 'full'
      }
      yield 'idle'
    }
  }
  const writer = hub.addWriter(stream, generator(), (error) => ends.push(error))
  return { hub, stream, writer, queue, ends }
}

describe('a writer', () => {
  test('writes when it is woken, and waits for the drain when the stream is full', () => {
    const { stream, writer, queue } = setUp()
    queue.push('one', 'two')
    writer.wake()
    expect(String(stream.bytes)).toBe('onetwo')
    expect(writer.full).toBe(false)

    stream.takes = () => 2
    queue.push('three', 'four')
    writer.wake()
    expect([String(stream.bytes), writer.full, writer.pending]).toEqual(['onetwoth', true, 3])

    writer.wake()
    expect(queue).toEqual(['four'])

    stream.takes = () => Number.POSITIVE_INFINITY
    stream.drain()
    expect([String(stream.bytes), writer.full, writer.pending]).toEqual(['onetwothreefour', false, 0])
  })

  test('that is woken by its own generator goes on with what came', () => {
    const { stream, writer, queue, ends } = setUp()
    const write = stream.write.bind(stream)
    stream.write = (bytes) => {
      if (queue.length === 0 && String(stream.bytes).length < 10) {
        queue.push('again')
        writer.wake()
      }
      return write(bytes)
    }
    queue.push('first')
    writer.wake()
    expect([String(stream.bytes), ends]).toEqual(['firstagainagain', []])
  })

  test('ends once, with the first error, and writes nothing more', () => {
    const { hub, stream, writer, queue, ends } = setUp()
    const error = new Error('EPIPE')
    stream.emit('error', error)
    stream.emit('close')
    queue.push('late')
    writer.wake()
    stream.emit('drain')
    expect(ends).toEqual([error])
    expect([writer.ended, stream.parts.length, hub.registered().writers]).toEqual([true, 0, 0])
  })

  test('ends when its generator throws', () => {
    const hub = new Hub(new FakeClock())
    const ends: (Error | undefined)[] = []
    const error = new Error('a mistake')
    // biome-ignore lint/correctness/useYield: it throws before it could.
    const failing = function* (): WriteGenerator {
      throw error
    }
    hub.addWriter(new FakeWritable(), failing(), (each) => ends.push(each)).wake()
    expect(ends).toEqual([error])
    expect(hub.registered().writers).toBe(0)
  })

  test('writes and reports nothing after stop', () => {
    const { hub, stream, writer, queue, ends } = setUp()
    writer.stop()
    queue.push('late')
    writer.wake()
    stream.emit('drain')
    stream.emit('close')
    expect([stream.parts.length, ends, hub.registered().writers]).toEqual([0, [], 0])
  })
})
