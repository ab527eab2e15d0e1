import { describe, expect, test } from 'vitest'
import { Hub, systemClock } from '../../src/hub/index.js'
import { FakeClock, FakeReadable, FakeWritable } from './fakes.js'

const setUp = () => {
  const clock = new FakeClock()
  return { clock, hub: new Hub(clock) }
}

describe('ticks', () => {
  test('one tick runs after the poll, however often it was asked for', () => {
    const { clock, hub } = setUp()
    const seen: string[] = []
    hub.onTick(() => seen.push('a'))
    hub.onTick(() => seen.push('b'))
    hub.wake()
    hub.wake()
    expect([seen, clock.polls]).toEqual([[], 1])
    clock.poll()
    expect(seen).toEqual(['a', 'b'])
    clock.poll()
    expect(seen).toHaveLength(2)
  })

  test('a tick may ask for the next one', () => {
    const { clock, hub } = setUp()
    let ticks = 0
    hub.onTick(() => {
      if (++ticks < 3) hub.wake()
    })
    hub.wake()
    clock.pollUntilQuiet()
    expect(ticks).toBe(3)
  })

  test('one that is asked for soon runs after the code, once until the loop has polled or bytes have come', async () => {
    const { clock, hub } = setUp()
    const stream = new FakeReadable()
    const reading = (function* (): Generator<undefined, void, Buffer> {
      for (;;) yield
    })()
    hub.addReader(stream, reading, () => {})
    const soon = async (): Promise<[number, number]> => {
      const before = ticks
      hub.wakeSoon()
      await null
      await new Promise((resolve) => process.nextTick(resolve))
      return [ticks - before, clock.polls]
    }
    let ticks = 0
    hub.onTick(() => ticks++)
    expect(await soon()).toEqual([1, 0])
    expect(await soon()).toEqual([0, 1])
    clock.poll()
    expect(ticks).toBe(2)
    expect(await soon()).toEqual([1, 0])
    stream.bring('an answer')
    expect(await soon()).toEqual([1, 0])
  })

  test('none runs after close, asked for before or after', () => {
    const { clock, hub } = setUp()
    let ticks = 0
    hub.onTick(() => ticks++)
    hub.wake()
    hub.close()
    clock.pollUntilQuiet()
    hub.wake()
    clock.pollUntilQuiet()
    expect(ticks).toBe(0)
  })
})

describe('repeated calls', () => {
  test('come at each interval, with how late they are, until they are stopped', () => {
    const { clock, hub } = setUp()
    const seen: [at: number, late: number][] = []
    const stop = hub.callRepeatedly(100, (late) => seen.push([clock.time, late]))
    clock.advance(200)
    clock.stall(150)
    clock.advance(100)
    stop()
    clock.advance(1_000)
    expect(seen).toEqual([
      [100, 0],
      [200, 0],
      [350, 50],
      [450, 0],
    ])
    expect(hub.registered().timers).toBe(0)
  })

  test('may be stopped from within', () => {
    const { clock, hub } = setUp()
    let calls = 0
    const stop = hub.callRepeatedly(10, () => {
      calls++
      stop()
    })
    clock.advance(100)
    expect([calls, hub.registered().timers]).toEqual([1, 0])
  })

  test('one that is cancelled is not called', () => {
    const { clock, hub } = setUp()
    let calls = 0
    hub.cancel(hub.callLater(10, () => calls++))
    hub.cancel(undefined)
    hub.callLater(20, () => calls++)
    clock.advance(100)
    expect(calls).toBe(1)
  })
})

describe('keeping the host alive', () => {
  test('lasts until the last release', () => {
    const { clock, hub } = setUp()
    hub.hold()
    hub.hold()
    hub.release()
    expect(clock.kept).toBe(true)
    hub.release()
    expect(clock.kept).toBe(false)
    hub.release()
    hub.hold()
    expect(clock.kept).toBe(true)
  })

  test('ends with close, in spite of holds without a release', () => {
    const { clock, hub } = setUp()
    hub.hold()
    hub.hold()
    hub.close()
    expect([clock.kept, clock.lifeEnded]).toEqual([false, true])
    hub.hold()
    expect(clock.kept).toBe(false)
  })

  test('the timers of the system clock do not keep the process alive, keepAlive does', () => {
    const active = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = active()
    const timer = systemClock.setTimer(() => {}, 1_000_000)
    expect(active()).toBe(before)
    const life = systemClock.keepAlive()
    life.hold()
    expect(active()).toBe(before + 1)
    life.release()
    expect(active()).toBe(before)
    life.hold()
    expect(active()).toBe(before + 1)
    life.close()
    systemClock.clearTimer(timer)
    expect(active()).toBe(before)
  })
})

test('after close nothing is registered, and nothing is called', () => {
  const { clock, hub } = setUp()
  const [readable, writable] = [new FakeReadable(), new FakeWritable()]
  const said: string[] = []
  hub.addReader(
    readable,
    (function* () {
      for (;;) said.push(String(yield))
    })(),
    () => said.push('reader ended'),
  )
  const writer = hub.addWriter(
    writable,
    (function* () {
      for (;;) {
        said.push('wrote')
        yield 'idle' as const
      }
    })(),
    () => said.push('writer ended'),
  )
  hub.callLater(10, () => said.push('called'))
  hub.callRepeatedly(10, () => said.push('called'))
  hub.deadlineAfterRead(
    10,
    () => [],
    () => said.push('passed'),
  )
  expect(hub.registered()).toEqual({ readers: 1, writers: 1, timers: 3 })
  hub.close()
  expect(hub.registered()).toEqual({ readers: 0, writers: 0, timers: 0 })
  readable.bring('stale')
  readable.emit('close')
  writer.wake()
  writable.emit('close')
  clock.advance(1_000)
  expect(said).toEqual([])
})
