import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Heap } from '../../src/util/heap.js'

interface Item {
  key: number
  seq: number
}

const before = (a: Item, b: Item): boolean => a.key < b.key || (a.key === b.key && a.seq < b.seq)
const inOrder = (items: readonly Item[]): Item[] => items.toSorted((a, b) => (before(a, b) ? -1 : 1))

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('push' as const), key: fc.nat({ max: 20 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pop' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('filter' as const), modulus: fc.integer({ min: 1, max: 4 }) }) },
)

test('a heap gives what a sorted list gives, over any mix of push, pop and filter', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const heap = new Heap<Item>(before)
      let model: Item[] = []
      let seq = 0
      for (const each of steps) {
        if (each.do === 'push') {
          const item = { key: each.key, seq: seq++ }
          heap.push(item)
          model = inOrder([...model, item])
        } else if (each.do === 'pop') expect(heap.pop()).toBe(model.shift())
        else {
          heap.filter(({ key }) => key % each.modulus !== 0)
          model = model.filter(({ key }) => key % each.modulus !== 0)
        }
        expect(heap.size).toBe(model.length)
        expect(heap.peek()).toBe(model[0])
      }
      while (model.length > 0) expect(heap.pop()).toBe(model.shift())
      expect(heap.pop()).toBeUndefined()
    }),
  )
})

test('drain empties a heap and returns all of its items', () => {
  const heap = new Heap<number>((a, b) => a < b)
  for (const value of [3, 1, 2]) heap.push(value)
  expect(heap.drain().toSorted()).toEqual([1, 2, 3])
  expect([heap.size, heap.peek(), heap.pop()]).toEqual([0, undefined, undefined])
  heap.push(4)
  expect(heap.pop()).toBe(4)
})
