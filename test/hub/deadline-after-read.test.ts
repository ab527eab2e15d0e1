import { describe, expect, test } from 'vitest'
import { Hub, type ReadGenerator } from '../../src/hub/index.js'
import { FakeClock, FakeReadable } from './fakes.js'

const setUp = () => {
  const clock = new FakeClock()
  const hub = new Hub(clock)
  const stream = new FakeReadable()
  const log: string[] = []
  const read = function* (): ReadGenerator {
    for (;;) log.push(`read ${String(yield)}`)
  }
  const reader = hub.addReader(stream, read(), () => {})
  const start = (ms = 100) =>
    hub.deadlineAfterRead(
      ms,
      () => [reader],
      () => log.push('passed'),
    )
  return { clock, hub, stream, log, start, reader }
}

/** The kernel holds these: one comes at each poll. */
const arrive = (clock: FakeClock, stream: FakeReadable, texts: string[]): void => {
  clock.beforePoll = () => {
    const text = texts.shift()
    if (text !== undefined) stream.bring(text)
  }
}

describe('a deadline after reading', () => {
  test('passes once a poll brings nothing more', () => {
    const { clock, stream, log, start } = setUp()
    start()
    arrive(clock, stream, ['a', 'b', 'c'])
    clock.advance(100)
    expect(log).toEqual(['read a', 'read b', 'read c'])
    clock.advance(50)
    expect(log).toEqual(['read a', 'read b', 'read c', 'passed'])
  })

  test('is extended while bytes still arrive: a worker that the host blocked in a write needs a moment to go on', () => {
    const { clock, stream, log, start } = setUp()
    const deadline = start()
    arrive(clock, stream, ['the first half'])
    clock.advance(149)
    expect(log).toEqual(['read the first half'])
    stream.bring('the second half')
    deadline.cancel()
    clock.advance(1_000)
    expect(log).toEqual(['read the first half', 'read the second half'])
  })

  test('can be cancelled by what is read at the last moment', () => {
    const { clock, stream, log, start } = setUp()
    const deadline = start()
    clock.beforePoll = () => {
      clock.beforePoll = () => {}
      stream.bring('READY')
      deadline.cancel()
    }
    clock.advance(1_000)
    expect(log).toEqual(['read READY'])
  })

  test('polls twice, because a timer runs before the poll of its own turn', () => {
    const { clock, stream, log, start } = setUp()
    start()
    clock.stall(100)
    clock.poll()
    expect(log).toEqual([])
    stream.bring('late')
    clock.pollUntilQuiet()
    clock.advance(50)
    expect(log).toEqual(['read late', 'passed'])
  })

  test("is extended once by the host's own stall", () => {
    const { clock, log, start } = setUp()
    start()
    clock.stall(180)
    clock.pollUntilQuiet()
    expect(log).toEqual([])
    clock.advance(79)
    expect(log).toEqual([])
    // Late again: the second stall counts no more.
    clock.stall(500)
    clock.pollUntilQuiet()
    expect(log).toEqual(['passed'])
  })

  test('is extended by a stall at most by its own length', () => {
    const { clock, log, start } = setUp()
    start()
    clock.stall(60_000)
    clock.pollUntilQuiet()
    clock.advance(99)
    expect(log).toEqual([])
    clock.advance(1)
    expect(log).toEqual(['passed'])
  })

  test('is not extended when its timer is a few milliseconds late', () => {
    const { clock, log, start } = setUp()
    start()
    clock.stall(150)
    clock.pollUntilQuiet()
    expect(log).toEqual(['passed'])
  })

  test('never passes when it is cancelled before the reading, during it, or in the extension', () => {
    const { clock, hub, log, start } = setUp()
    start().cancel()
    const reading = start()
    const extended = start(150)
    clock.stall(100)
    reading.cancel()
    clock.stall(200)
    clock.pollUntilQuiet()
    expect(hub.registered().timers).toBe(1)
    extended.cancel()
    clock.advance(10_000)
    expect(log).toEqual([])
    expect(hub.registered().timers).toBe(0)
  })

  test('passes in spite of an endless flood of bytes', () => {
    const { clock, stream, log, start } = setUp()
    start()
    clock.beforePoll = () => stream.bring('x')
    clock.stall(100)
    for (let extension = 0; extension < 25; extension++) {
      clock.pollUntilQuiet(2_000)
      clock.advance(50)
    }
    expect(log).toContain('passed')
  })

  test('does not pass after the hub is closed', () => {
    const { clock, hub, log, start } = setUp()
    start()
    start(50)
    clock.stall(60)
    hub.close()
    clock.pollUntilQuiet()
    clock.advance(1_000)
    expect(log).toEqual([])
  })

  test('takes account of a reader that is added later', () => {
    const { clock, hub, log } = setUp()
    const later = new FakeReadable()
    const readers = [...Array(0)] as ReturnType<Hub['addReader']>[]
    hub.deadlineAfterRead(
      10,
      () => readers,
      () => log.push('passed'),
    )
    readers.push(
      hub.addReader(
        later,
        (function* () {
          for (;;) log.push(`read ${String(yield)}`)
        })(),
        () => {},
      ),
    )
    arrive(clock, later, ['a', 'b'])
    clock.advance(10)
    expect(log).toEqual(['read a', 'read b'])
    clock.advance(10)
    expect(log).toEqual(['read a', 'read b', 'passed'])
  })
})
