import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JobQueue, MOST_PASSED } from '../../../src/pool/queue/job-queue.js'
import { PackedJobs } from '../../../src/pool/queue/packed-jobs.js'
import { runs } from '../../fixtures/runs.js'
import { collectGarbage } from '../gc.js'

interface Item {
  number: number
  priority: number
  waiting: boolean
  takesTurns: boolean
}

const priority = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.constantFrom(-1, 1, 2, 0.5, 10))
const which = fc.nat()
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('add' as const), priority }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pack' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('putBack' as const), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('cancel' as const), which }) },
)

/** The model: a sorted array in place of levels, deques and heaps. */
class Model {
  waiting: Item[] = []

  add(item: Item): void {
    this.waiting.push(item)
    this.waiting.sort((a, b) => b.priority - a.priority || a.number - b.number)
  }
}

const fill = (count: number, priorityOf: (n: number) => number = () => 0): { queue: JobQueue<Item>; items: Item[] } => {
  const queue = new JobQueue<Item>()
  const items = Array.from({ length: count }, (_, number) => ({ number, priority: priorityOf(number), waiting: true, takesTurns: false }))
  for (const item of items) queue.add(item)
  return { queue, items }
}

const cancel = (queue: JobQueue<Item>, item: Item): void => {
  item.waiting = false
  queue.forget()
}

const takeAll = (queue: JobQueue<Item>): number[] => {
  const all: number[] = []
  for (let item = queue.take(); item !== undefined; item = queue.take()) all.push(item.number)
  return all
}

describe('the queue', () => {
  test('is ordered by priority and submission, whatever is put back or cancelled', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const queue = new JobQueue<Item>()
        const packed = new PackedJobs<Item, Item>(({ task }) => task)
        const model = new Model()
        const out: Item[] = []
        let number = 0
        for (const each of steps) {
          if (each.do === 'add') {
            const item = { number: number++, priority: each.priority, waiting: true, takesTurns: false }
            queue.add(item)
            model.add(item)
          } else if (each.do === 'pack') {
            const item = { number: number++, priority: 0, waiting: true, takesTurns: false }
            void packed.add(item.number, item, [], 0, 0)
            queue.addPacked(packed)
            model.add(item)
          } else if (each.do === 'take') {
            const expected = model.waiting.shift()
            expect(queue.peek()).toBe(expected)
            expect(queue.take()).toBe(expected)
            if (expected !== undefined) out.push(expected)
          } else if (each.do === 'putBack' && out.length > 0) {
            const [item] = out.splice(each.which % out.length, 1)
            queue.putBack(item!)
            model.add(item!)
          } else if (each.do === 'cancel' && model.waiting.length > 0) {
            const at = each.which % model.waiting.length
            cancel(queue, model.waiting[at]!)
            model.waiting.splice(at, 1)
          }
          expect(queue.size).toBe(model.waiting.length)
        }
        expect(queue.drain()).toEqual(model.waiting)
        expect([queue.size, queue.peek()]).toEqual([0, undefined])
      }),
      { numRuns: runs(100, 30) },
    )
  })

  test('puts a job that comes back before all that were submitted later', () => {
    const { queue } = fill(6)
    const [a, b, c] = [queue.take()!, queue.take()!, queue.take()!]
    queue.putBack(c)
    queue.putBack(a)
    expect(queue.take()).toBe(a)
    queue.putBack(b)
    expect(takeAll(queue)).toEqual([1, 2, 3, 4, 5])
  })

  test('may be used again after it was emptied', () => {
    const { queue, items } = fill(3, (n) => n)
    expect(queue.drain().map((item) => item.number)).toEqual([2, 1, 0])
    queue.add(items[0]!)
    expect(takeAll(queue)).toEqual([0])
    expect(queue.take()).toBeUndefined()
  })

  test('keeps its order after many jobs were cancelled, among them jobs that had been put back', () => {
    const { queue, items } = fill(400, (n) => n % 2)
    const out = Array.from({ length: 200 }, () => queue.take()!)
    for (const item of out.reverse()) queue.putBack(item)
    for (const item of items) if (item.number % 5 !== 0) cancel(queue, item)
    expect(queue.size).toBe(80)
    const fives = Array.from({ length: 80 }, (_, i) => i * 5)
    expect(takeAll(queue)).toEqual([...fives.filter((n) => n % 2 === 1), ...fives.filter((n) => n % 2 === 0)])
  })

  test('frees the arguments of cancelled jobs although nothing is taken', async () => {
    const { queue, items } = fill(1)
    const refs: WeakRef<Item>[] = []
    for (let number = 1; number <= 1_000; number++) {
      const item = { number, priority: number % 3, waiting: true, takesTurns: false }
      refs.push(new WeakRef(item))
      queue.add(item)
      cancel(queue, item)
    }
    // A WeakRef keeps its target until the end of the turn.
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    expect(refs.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(200)
    expect(queue.drain()).toEqual(items)
  })
})

describe('jobs that take turns', () => {
  let number = 0
  const put = (queue: JobQueue<Item>, priority: number, takesTurns = true): Item => {
    const item = { number: number++, priority, waiting: true, takesTurns }
    queue.add(item)
    return item
  }
  /** The priorities of the next `count` jobs; each is replaced by another of the same priority, as from an endless queue. */
  const flow = (queue: JobQueue<Item>, count: number): number[] =>
    Array.from({ length: count }, () => {
      const { priority, takesTurns } = queue.take()!
      put(queue, priority, takesTurns)
      return priority
    })
  const times = (count: number, priority: number): number[] => new Array<number>(count).fill(priority)

  test('the first job of the lower of two levels is due when enough have passed it', () => {
    const queue = new JobQueue<Item>()
    for (const priority of [0, 0, 0, 1]) put(queue, priority)
    expect(flow(queue, 27)).toEqual([...times(8, 1), 0, ...times(8, 1), 0, ...times(8, 1), 0])
  })

  test('the lower levels are due one after another', () => {
    const queue = new JobQueue<Item>()
    for (const priority of [0, 5, 1, 2]) put(queue, priority)
    expect(flow(queue, 22)).toEqual([...times(8, 5), 2, 1, 0, ...times(8, 5), 2, 1, 0])
  })

  test('the count of a level begins anew once it was empty', () => {
    const queue = new JobQueue<Item>()
    put(queue, 0)
    put(queue, 1)
    expect(flow(queue, 9)).toEqual([...times(8, 1), 0])
    expect(queue.drain().map((item) => item.priority)).toEqual([1, 0])
    put(queue, 1)
    const low = put(queue, 0)
    expect(flow(queue, 7)).toEqual(times(7, 1))
    cancel(queue, low)
    expect(flow(queue, 1)).toEqual([1])
    put(queue, 0)
    expect(flow(queue, 9)).toEqual([...times(8, 1), 0])
  })

  test('a job that had its turn and is put back is not passed again', () => {
    const queue = new JobQueue<Item>()
    const low = put(queue, 0)
    put(queue, 1)
    flow(queue, 8)
    expect(queue.take()).toBe(low)
    queue.putBack(low)
    expect(queue.peek()).toBe(low)
  })

  test('a job of strict priority is passed by all of higher priority and by none of lower', () => {
    const queue = new JobQueue<Item>()
    put(queue, 0)
    const strict = put(queue, 1, false)
    put(queue, 2)
    expect(flow(queue, 30)).toEqual(times(30, 2))
    cancel(queue, strict)
    expect(flow(queue, 1)).toEqual([0])
    put(queue, 3, false)
    expect(flow(queue, 30)).toEqual(times(30, 3))
  })

  test('no job is passed by more than the bound, and one of each level between, whatever is added and taken', () => {
    const levels = [0, 1, 2, 3]
    const steps = fc.array(fc.oneof(fc.constantFrom(...levels), fc.constant('take' as const)), { minLength: 50, maxLength: 400, size: 'max' })
    fc.assert(
      fc.property(steps, (all) => {
        const queue = new JobQueue<Item>()
        const waiting: Item[][] = levels.map(() => [])
        const passed = levels.map(() => 0)
        for (const each of [...all, ...times(400, -1)]) {
          if (typeof each === 'number' && each >= 0) waiting[each]!.push(put(queue, each))
          else {
            const next = queue.peek()
            expect(queue.take()).toBe(next)
            if (next === undefined) continue
            const { priority } = next
            expect(waiting[priority]!.shift()).toBe(next)
            const higher = levels.filter((level) => level > priority && waiting[level]!.length > 0)
            if (higher.length > 0) expect(passed[priority]).toBeGreaterThanOrEqual(MOST_PASSED)
            passed[priority] = 0
            for (let level = 0; level < priority; level++) passed[level] = waiting[level]!.length === 0 ? 0 : passed[level]! + 1
            for (const level of levels) expect(passed[level]).toBeLessThanOrEqual(MOST_PASSED + Math.max(0, levels.length - 2 - level))
          }
        }
        expect(queue.size).toBe(0)
      }),
      { numRuns: runs(100, 30) },
    )
  })
})
