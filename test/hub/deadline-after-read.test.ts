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
  const judge = (ms = 100) =>
    hub.deadlineAfterRead(
      ms,
      () => [reader],
      () => log.push('condemned'),
    )
  return { clock, hub, stream, log, judge, reader }
}

/** The kernel holds these: one comes at each poll. */
const arrive = (clock: FakeClock, stream: FakeReadable, texts: string[]): void => {
  clock.beforePoll = () => {
    const text = texts.shift()
    if (text !== undefined) stream.bring(text)
  }
}

describe('judge', () => {
  test('reads before it condemns: until a poll brings nothing more', () => {
    const { clock, stream, log, judge } = setUp()
    judge()
    arrive(clock, stream, ['a', 'b', 'c'])
    clock.advance(100)
    expect(log).toEqual(['read a', 'read b', 'read c'])
    clock.advance(50)
    expect(log).toEqual(['read a', 'read b', 'read c', 'condemned'])
  })

  test('whoever still speaks is heard out: held up by the host in a write, he needs a moment to go on', () => {
    const { clock, stream, log, judge } = setUp()
    const judgement = judge()
    arrive(clock, stream, ['the first half'])
    clock.advance(149)
    expect(log).toEqual(['read the first half'])
    stream.bring('the second half')
    judgement.cancel()
    clock.advance(1_000)
    expect(log).toEqual(['read the first half', 'read the second half'])
  })

  test('what is read at the last moment may acquit', () => {
    const { clock, stream, log, judge } = setUp()
    const judgement = judge()
    clock.beforePoll = () => {
      clock.beforePoll = () => {}
      stream.bring('READY')
      judgement.cancel()
    }
    clock.advance(1_000)
    expect(log).toEqual(['read READY'])
  })

  test('a timer runs before the poll of its own turn: one poll is not enough', () => {
    const { clock, stream, log, judge } = setUp()
    judge()
    clock.stall(100)
    clock.poll()
    expect(log).toEqual([])
    stream.bring('late')
    clock.pollUntilQuiet()
    clock.advance(50)
    expect(log).toEqual(['read late', 'condemned'])
  })

  test("the host's own stall is added once", () => {
    const { clock, log, judge } = setUp()
    judge()
    clock.stall(180)
    clock.pollUntilQuiet()
    expect(log).toEqual([])
    clock.advance(79)
    expect(log).toEqual([])
    // Late again: the second stall counts no more.
    clock.stall(500)
    clock.pollUntilQuiet()
    expect(log).toEqual(['condemned'])
  })

  test('a stall adds at most the time that was given', () => {
    const { clock, log, judge } = setUp()
    judge()
    clock.stall(60_000)
    clock.pollUntilQuiet()
    clock.advance(99)
    expect(log).toEqual([])
    clock.advance(1)
    expect(log).toEqual(['condemned'])
  })

  test('a few milliseconds late is no stall', () => {
    const { clock, log, judge } = setUp()
    judge()
    clock.stall(150)
    clock.pollUntilQuiet()
    expect(log).toEqual(['condemned'])
  })

  test('cancelled before, during the reading, or in the extension, it never condemns', () => {
    const { clock, hub, log, judge } = setUp()
    judge().cancel()
    const reading = judge()
    const extended = judge(150)
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

  test('a flood cannot put it off for ever', () => {
    const { clock, stream, log, judge } = setUp()
    judge()
    clock.beforePoll = () => stream.bring('x')
    clock.stall(100)
    for (let hearing = 0; hearing < 25; hearing++) {
      clock.pollUntilQuiet(2_000)
      clock.advance(50)
    }
    expect(log).toContain('condemned')
  })

  test('nobody is condemned after close', () => {
    const { clock, hub, log, judge } = setUp()
    judge()
    judge(50)
    clock.stall(60)
    hub.close()
    clock.pollUntilQuiet()
    clock.advance(1_000)
    expect(log).toEqual([])
  })

  test('readers are asked for at each look: one that is added later counts too', () => {
    const { clock, hub, log } = setUp()
    const later = new FakeReadable()
    const readers = [...Array(0)] as ReturnType<Hub['addReader']>[]
    hub.deadlineAfterRead(
      10,
      () => readers,
      () => log.push('condemned'),
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
    expect(log).toEqual(['read a', 'read b', 'condemned'])
  })
})
