import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Outbox } from '../../src/pool/outbox.js'
import { collectGarbage } from './gc.js'

interface Item {
  number: number
  priority: number
  waiting: boolean
}

const priority = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.constantFrom(-1, 1, 2, 0.5, 10))
const which = fc.nat()
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('add' as const), priority }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('putBack' as const), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('cancel' as const), which }) },
)

/** A sorted array in place of the levels, deques and heaps. */
class Model {
  waiting: Item[] = []

  add(item: Item): void {
    this.waiting.push(item)
    this.waiting.sort((a, b) => b.priority - a.priority || a.number - b.number)
  }
}

const fill = (count: number, priorityOf: (n: number) => number = () => 0): { outbox: Outbox<Item>; items: Item[] } => {
  const outbox = new Outbox<Item>()
  const items = Array.from({ length: count }, (_, number) => ({ number, priority: priorityOf(number), waiting: true }))
  for (const item of items) outbox.add(item)
  return { outbox, items }
}

const cancel = (outbox: Outbox<Item>, item: Item): void => {
  item.waiting = false
  outbox.forget()
}

const takeAll = (outbox: Outbox<Item>): number[] => {
  const all: number[] = []
  for (let item = outbox.take(); item !== undefined; item = outbox.take()) all.push(item.number)
  return all
}

describe('the outbox', () => {
  test('is ordered by priority and submission, whatever comes back or is cancelled', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const outbox = new Outbox<Item>()
        const model = new Model()
        const out: Item[] = []
        let number = 0
        for (const each of steps) {
          if (each.do === 'add') {
            const item = { number: number++, priority: each.priority, waiting: true }
            outbox.add(item)
            model.add(item)
          } else if (each.do === 'take') {
            const expected = model.waiting.shift()
            expect(outbox.peek()).toBe(expected)
            expect(outbox.take()).toBe(expected)
            if (expected !== undefined) out.push(expected)
          } else if (each.do === 'putBack' && out.length > 0) {
            const [item] = out.splice(each.which % out.length, 1)
            outbox.putBack(item!)
            model.add(item!)
          } else if (each.do === 'cancel' && model.waiting.length > 0) {
            const [item] = model.waiting.splice(each.which % model.waiting.length, 1)
            cancel(outbox, item!)
          }
          expect(outbox.size).toBe(model.waiting.length)
        }
        expect(outbox.drain()).toEqual(model.waiting)
        expect([outbox.size, outbox.peek()]).toEqual([0, undefined])
      }),
      { numRuns: 100 },
    )
  })

  test('a job that comes back stands before all that were submitted later', () => {
    const { outbox } = fill(6)
    const [a, b, c] = [outbox.take()!, outbox.take()!, outbox.take()!]
    outbox.putBack(c)
    outbox.putBack(a)
    expect(outbox.take()).toBe(a)
    outbox.putBack(b)
    expect(takeAll(outbox)).toEqual([1, 2, 3, 4, 5])
  })

  test('it may be used again after it was emptied', () => {
    const { outbox, items } = fill(3, (n) => n)
    expect(outbox.drain().map((item) => item.number)).toEqual([2, 1, 0])
    outbox.add(items[0]!)
    expect(takeAll(outbox)).toEqual([0])
    expect(outbox.take()).toBeUndefined()
  })

  test('the order stands after many were cancelled, among them jobs that had come back', () => {
    const { outbox, items } = fill(400, (n) => n % 2)
    const out = Array.from({ length: 200 }, () => outbox.take()!)
    for (const item of out.reverse()) outbox.putBack(item)
    for (const item of items) if (item.number % 5 !== 0) cancel(outbox, item)
    expect(outbox.size).toBe(80)
    const fives = Array.from({ length: 80 }, (_, i) => i * 5)
    expect(takeAll(outbox)).toEqual([...fives.filter((n) => n % 2 === 1), ...fives.filter((n) => n % 2 === 0)])
  })

  test('jobs cancelled while no turn comes do not keep what they hold', async () => {
    const { outbox, items } = fill(1)
    const refs: WeakRef<Item>[] = []
    for (let number = 1; number <= 1_000; number++) {
      const item = { number, priority: number % 3, waiting: true }
      refs.push(new WeakRef(item))
      outbox.add(item)
      cancel(outbox, item)
    }
    // A WeakRef holds its target to the end of the turn.
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    expect(refs.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(200)
    expect(outbox.drain()).toEqual(items)
  })
})
