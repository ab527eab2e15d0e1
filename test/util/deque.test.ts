import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Deque } from '../../src/util/deque.js'
import { runs } from '../fixtures/runs.js'

const step = fc.oneof(
  { weight: 5, arbitrary: fc.constant('push' as const) },
  { weight: 4, arbitrary: fc.constant('shift' as const) },
  { weight: 1, arbitrary: fc.constant('drain' as const) },
)

test('a deque behaves as an array does, through its growth and around its end', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), fc.nat({ max: 60 }), (steps, first) => {
      const deque = new Deque<number>()
      const model: number[] = []
      let next = 0
      const push = (): void => {
        deque.push(next)
        model.push(next++)
      }
      for (let i = 0; i < first; i++) push()
      for (const each of steps) {
        if (each === 'push') push()
        else if (each === 'shift') expect(deque.shift()).toBe(model.shift())
        else expect(deque.drain()).toEqual(model.splice(0))
        expect(deque.size).toBe(model.length)
        expect(deque.peek()).toBe(model[0])
        for (let i = 0; i <= model.length; i++) expect(deque.at(i)).toBe(model[i])
      }
      expect(deque.drain()).toEqual(model)
    }),
    { numRuns: runs(100, 40) },
  )
})
