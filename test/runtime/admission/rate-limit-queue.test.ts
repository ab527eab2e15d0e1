import { describe, expect, it } from 'vitest'
import { RateLimitQueue, RateLimits } from '../../../src/runtime/admission/rate-limits.js'
import { VirtualClock } from '../../fixtures/virtual-clock.js'

interface Item {
  readonly id: string
  readonly name: string
  readonly queue: string
}

const setUp = (given: Readonly<Record<string, string>>) => {
  const limits = new RateLimits()
  const set = (what: string, limit: string | null): void => {
    const [scope, name] = what.split(' ') as ['task' | 'queue', string]
    limits.set(scope, name, limit)
  }
  for (const [what, limit] of Object.entries(given)) set(what, limit)
  const clock = new VirtualClock()
  const begun: [id: string, at: number][] = []
  const begin = (item: Item): void => {
    begun.push([item.id, clock.now()])
  }
  const turns = new RateLimitQueue<Item>(limits, begin, clock)
  const enter = (id: string, name = 't', queue = 'q'): Item => {
    const item = { id, name, queue }
    turns.enter(item)
    return item
  }
  return { clock, turns, begun, enter, set }
}

describe('the rate limit queue', () => {
  it('begins items one by one, in the order of arrival', () => {
    const { clock, begun, enter } = setUp({ 'task t': '1/s' })
    for (const id of ['a', 'b', 'c']) enter(id)
    enter('free', 'other')
    clock.goTo(1_500)
    enter('d')
    clock.goTo(10_000)
    expect(begun).toEqual([
      ['a', 0],
      ['free', 0],
      ['b', 1_000],
      ['c', 2_000],
      ['d', 3_000],
    ])
    expect(clock.timers.size).toBe(0)
  })

  it('does not delay a task behind a slower one that came before', () => {
    const { clock, begun, enter } = setUp({ 'task t': '1/s', 'task slow': '60/h' })
    enter('a')
    enter('slow a', 'slow')
    enter('b')
    enter('slow b', 'slow')
    enter('c')
    clock.goTo(60_000)
    expect(begun).toEqual([
      ['a', 0],
      ['slow a', 0],
      ['b', 1_000],
      ['c', 2_000],
      ['slow b', 60_000],
    ])
  })

  it.each([1, 5, 100])('does not delay waiting items when they leave and come again %i times', (times) => {
    const { clock, turns, begun, enter } = setUp({ 'task t': '1/s', 'queue q': '1/s' })
    enter('first')
    let waiting = ['a', 'b', 'c'].map((id) => enter(id))
    for (let time = 1; time <= times; time++) {
      clock.goTo(time * 5)
      for (const item of waiting) turns.leave(item)
      expect(clock.timers.size).toBe(0)
      waiting = waiting.map(({ id }) => enter(id))
    }
    clock.goTo(10_000)
    expect(begun).toEqual([
      ['first', 0],
      ['a', 1_000],
      ['b', 2_000],
      ['c', 3_000],
    ])
  })

  it('does not delay items when the limit of another task is set', () => {
    const { clock, turns, begun, enter, set } = setUp({ 'task t': '1/s' })
    for (const id of ['a', 'b', 'c']) enter(id)
    for (let time = 0; time < 1_990; time += 10) {
      clock.goTo(time)
      set('task other', '5/s')
      turns.check()
    }
    clock.goTo(2_000)
    expect(begun).toEqual([
      ['a', 0],
      ['b', 1_000],
      ['c', 2_000],
    ])
  })

  it('passes a turn on when an item in the middle leaves', () => {
    const { clock, turns, begun, enter } = setUp({ 'task t': '1/s' })
    const [, b] = ['a', 'b', 'c'].map((id) => enter(id))
    clock.goTo(500)
    turns.leave(b!)
    turns.leave(b!)
    clock.goTo(10_000)
    expect(begun).toEqual([
      ['a', 0],
      ['c', 1_000],
    ])
  })

  it('under two limits returns no token that was taken again meanwhile', () => {
    const { clock, turns, begun, enter } = setUp({ 'task slow': '60/h', 'queue q': '1/s' })
    enter('first', 'slow')
    const waiting = ['a', 'b', 'c'].map((id) => enter(id, 'slow'))
    // The token of the queue becomes free again and again, and other items take it.
    for (let time = 1; time <= 10; time++) {
      clock.goTo(time * 1_000)
      enter(`other ${time}`, 'other')
    }
    for (const item of waiting) turns.leave(item)
    for (const id of ['x', 'y']) enter(id, 'other')
    clock.goTo(20_000)
    expect(begun.slice(-3)).toEqual([
      ['other 10', 10_000],
      ['x', 11_000],
      ['y', 12_000],
    ])
  })

  it('under two limits withholds no token from items under one limit', () => {
    const { clock, begun, enter } = setUp({ 'task slow': '60/h', 'queue q': '1/s' })
    for (const id of ['first', 'a', 'b']) enter(id, 'slow')
    enter('x', 'other')
    clock.goTo(59_500)
    // Both items need the next token of the queue: the earlier one gets it.
    enter('y', 'other')
    enter('z', 'other')
    clock.goTo(59_900)
    enter('w', 'other')
    clock.goTo(70_000)
    expect(begun).toEqual([
      ['first', 0],
      ['x', 1_000],
      ['y', 59_500],
      ['a', 60_500],
      ['z', 61_500],
      ['w', 62_500],
    ])
  })

  it('begins the items at once when a limit is removed, and clears its timer', () => {
    const { clock, turns, begun, enter, set } = setUp({ 'task t': '1/h' })
    for (const id of ['a', 'b', 'c']) enter(id)
    clock.goTo(10)
    set('task t', null)
    turns.check()
    expect(begun).toEqual([
      ['a', 0],
      ['b', 10],
      ['c', 10],
    ])
    expect(clock.timers.size).toBe(0)
  })

  it('waits for turns that are beyond the range of a timer', () => {
    const { clock, begun, enter } = setUp({ 'task t': '0.001/h' })
    for (const id of ['a', 'b']) enter(id)
    clock.goTo(3_600_000_000)
    expect(begun.map(([id]) => id)).toEqual(['a', 'b'])
    expect(begun[1]![1]).toBe(3_600_000_000)
  })

  it('may be entered and left from within the start of another item', () => {
    const limits = new RateLimits()
    limits.set('task', 't', '1/h')
    const clock = new VirtualClock()
    const begun: string[] = []
    const turns = new RateLimitQueue<Item>(
      limits,
      ({ id }) => {
        begun.push(id)
        // The end of this item adds one and removes a waiting one.
        if (id === 'a') turns.enter({ id: 'behind', name: 'free', queue: 'q' })
        if (id === 'a') turns.leave(other)
      },
      clock,
    )
    const other = { id: 'other', name: 't', queue: 'q2' }
    limits.set('queue', 'q', '1/s')
    limits.take('t', 'q', 0)
    turns.enter({ id: 'a', name: 't', queue: 'q' })
    turns.enter(other)
    clock.goTo(7_200_000)
    expect(begun).toEqual(['a', 'behind'])
    expect(clock.timers.size).toBe(0)
  })

  it('never begins more items in any second than the rate plus a tenth, whenever items come, leave and come again', () => {
    const { clock, turns, begun, enter } = setUp({ 'task t': '20/s', 'queue q': '30/s' })
    let waiting: Item[] = []
    for (let now = 0; now < 5_000; now += 7) {
      clock.goTo(now)
      waiting.push(enter(`t${now}`), enter(`u${now}`, 'u'))
      if (now % 13 !== 0) continue
      const here = new Set(begun.map(([id]) => id))
      waiting = waiting.filter(({ id }) => !here.has(id))
      for (const item of waiting) turns.leave(item)
      waiting = waiting.map(({ id, name }) => enter(id, name))
    }
    clock.goTo(100_000)
    expect(begun).toHaveLength(2 * 715)
    const most = (times: number[]): number => Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length))
    expect(most(begun.map(([, at]) => at))).toBeLessThanOrEqual(33)
    expect(most(begun.flatMap(([id, at]) => (id.startsWith('t') ? at : [])))).toBeLessThanOrEqual(22)
    expect(new Set(begun.map(([id]) => id)).size).toBe(begun.length)
  })
})
