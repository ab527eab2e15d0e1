import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SettledTags } from '../../../src/brokers/amqp/consuming/settled-tags.js'

it('the floor is the last tag before the first that is not settled, however far they lie apart', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), fc.constantFrom(1, 700, 5_000), (order, apart) => {
      const tags = new SettledTags()
      const settled = new Set<number>()
      const add = (tag: number): void => {
        tags.add(tag)
        settled.add(tag)
        let floor = 0
        while (settled.has(floor + 1)) floor++
        expect(tags.floor).toBe(floor)
      }
      for (const each of order) for (const tag of [each * apart, each]) add(tag)
    }),
    { numRuns: 50 },
  )
})

it('a tag that comes twice changes nothing', () => {
  const tags = new SettledTags()
  for (const tag of [1, 2, 2, 4, 1, 4]) tags.add(tag)
  expect(tags.floor).toBe(2)
  for (let tag = 3; tag <= 5_000; tag++) tags.add(tag)
  expect(tags.floor).toBe(5_000)
})
