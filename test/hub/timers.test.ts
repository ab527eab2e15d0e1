import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Deadline, Timers } from '../../src/hub/timers.js'
import { FakeClock } from './fakes.js'

type Step = { do: 'add'; ms: number } | { do: 'cancel'; which: number } | { do: 'advance'; ms: number }

const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('add' as const), ms: fc.integer({ min: 0, max: 1_000 }) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('cancel' as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 400 }) }) },
  ),
  { maxLength: 400, size: 'max' },
)

/** A list in place of the heap. */
class Model {
  waiting: { id: number; at: number }[] = []

  due(now: number): number[] {
    const due = this.waiting.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at || a.id - b.id)
    this.waiting = this.waiting.filter(({ at }) => at > now)
    return due.map(({ id }) => id)
  }
}

describe('timers', () => {
  test('fire as a sorted list would, with cancellations, by one timer of the clock', () => {
    fc.assert(
      fc.property(steps, (all: Step[]) => {
        const clock = new FakeClock()
        const timers = new Timers(clock)
        const model = new Model()
        const made: Deadline[] = []
        const fired: number[] = []
        for (const step of all) {
          if (step.do === 'add') {
            const id = made.length
            const at = clock.time + step.ms
            made.push(
              timers.add(step.ms, (late) => {
                expect(late).toBe(clock.time - at)
                fired.push(id)
              }),
            )
            model.waiting.push({ id, at })
          } else if (step.do === 'cancel' && made.length > 0) {
            const id = step.which % made.length
            timers.cancel(made[id])
            model.waiting = model.waiting.filter((each) => each.id !== id)
          } else if (step.do === 'advance') {
            clock.advance(step.ms)
            expect(fired.splice(0)).toEqual(model.due(clock.time))
          }
          expect(timers.size).toBe(model.waiting.length)
          expect(clock.timers).toBeLessThanOrEqual(1)
        }
        clock.advance(1_000)
        expect(fired).toEqual(model.due(clock.time))
        expect(timers.size).toBe(0)
      }),
    )
  })

  test('those due together fire in the order in which they were set, with how late they are', () => {
    const clock = new FakeClock()
    const timers = new Timers(clock)
    const seen: string[] = []
    timers.add(20, (late) => seen.push(`b ${late}`))
    timers.add(20, (late) => seen.push(`c ${late}`))
    timers.add(10, (late) => seen.push(`a ${late}`))
    clock.stall(50)
    expect(seen).toEqual(['a 40', 'b 30', 'c 30'])
  })

  test('one that is set while another fires is not forgotten', () => {
    const clock = new FakeClock()
    const timers = new Timers(clock)
    const seen: number[] = []
    timers.add(10, () => timers.add(5, () => seen.push(clock.time)))
    timers.add(100, () => seen.push(clock.time))
    clock.advance(200)
    expect(seen).toEqual([15, 100])
  })

  test('one that throws does not stop the others', () => {
    const clock = new FakeClock()
    const timers = new Timers(clock)
    const seen: string[] = []
    timers.add(10, () => {
      throw new Error('a mistake')
    })
    timers.add(10, () => seen.push('the same turn'))
    timers.add(20, () => seen.push('later'))
    expect(() => clock.advance(10)).toThrow('a mistake')
    clock.advance(10)
    expect(seen).toEqual(['the same turn', 'later'])
  })

  test('a deadline beyond what a timer of Node holds is waited for in turns', () => {
    const clock = new FakeClock()
    const timers = new Timers(clock)
    const longest = 0x7fff_ffff
    let firedAt = 0
    timers.add(longest + 5_000, () => {
      firedAt = clock.time
    })
    clock.advance(longest + 4_999)
    expect(firedAt).toBe(0)
    clock.advance(1)
    expect(firedAt).toBe(longest + 5_000)
    expect(Math.max(...clock.delays)).toBe(longest)
  })

  test('a timer that comes a little early fires nothing early', () => {
    const clock = new FakeClock()
    const timers = new Timers(clock)
    const fired: number[] = []
    // Node rounds: its timer may come up to a millisecond before its time.
    const exact = clock.setTimer
    clock.setTimer = (fn, ms) => exact.call(clock, fn, Math.max(0, ms - 0.4))
    timers.add(10, () => fired.push(clock.time))
    clock.advance(20)
    expect(fired).toHaveLength(1)
    expect(fired[0]).toBeGreaterThanOrEqual(10)
  })

  test('a cancelled deadline, even twice, is neither counted nor called', () => {
    const clock = new FakeClock()
    const timers = new Timers(clock)
    timers.add(1_000_000, () => {})
    for (let i = 0; i < 1_000; i++) {
      const deadline = timers.add(1_000, () => {
        throw new Error('It was cancelled.')
      })
      timers.cancel(deadline)
      timers.cancel(deadline)
    }
    expect(timers.size).toBe(1)
    clock.advance(2_000)
    expect(timers.size).toBe(1)
  })

  test('they are in order still after most of many were cancelled', () => {
    const clock = new FakeClock()
    const timers = new Timers(clock)
    const seen: number[] = []
    const kept: number[] = []
    const deadlines = Array.from({ length: 500 }, (_, i) => {
      const at = (i * 7_919) % 997
      if (i % 4 === 0) kept.push(at)
      return timers.add(at, () => seen.push(at))
    })
    for (const [i, deadline] of deadlines.entries()) if (i % 4 !== 0) timers.cancel(deadline)
    expect(timers.size).toBe(125)
    clock.advance(1_000)
    expect(seen).toEqual(kept.sort((a, b) => a - b))
  })

  test('nothing fires after close, and nothing is left of the clock', () => {
    const clock = new FakeClock()
    const timers = new Timers(clock)
    let fired = 0
    const before = timers.add(10, () => fired++)
    timers.close()
    const after = timers.add(10, () => fired++)
    timers.cancel(before)
    timers.cancel(after)
    expect([timers.size, clock.timers]).toEqual([0, 0])
    clock.advance(100)
    expect(fired).toBe(0)
  })

  test('a deadline may close the timers', () => {
    const clock = new FakeClock()
    const timers = new Timers(clock)
    let fired = 0
    timers.add(10, () => timers.close())
    timers.add(10, () => fired++)
    clock.advance(100)
    expect([fired, timers.size, clock.timers]).toEqual([0, 0, 0])
  })
})
