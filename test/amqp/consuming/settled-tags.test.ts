import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SettledTags } from '../../../src/amqp/consuming/settled-tags.js'
import { runs } from '../../fixtures/runs.js'

it('the floor is the last tag before the first unsettled one, however far apart the tags are', () => {
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

it('a tag that is added twice changes nothing', () => {
  const tags = new SettledTags()
  for (const tag of [1, 2, 2, 4, 1, 4]) tags.add(tag)
  expect(tags.floor).toBe(2)
  for (let tag = 3; tag <= 5_000; tag++) tags.add(tag)
  expect(tags.floor).toBe(5_000)
})

it('deliveries that stay unsettled during hundreds of thousands of later ones hold the floor, each until it is settled', () => {
  const late = fc.uniqueArray(fc.integer({ min: 1, max: 400_000 }), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(late, fc.infiniteStream(fc.nat()), (held, random) => {
      const tags = new SettledTags()
      const left = new Set(held)
      const floor = (): number => Math.min(400_000, ...left) - (left.size === 0 ? 0 : 1)
      for (let tag = 1; tag <= 400_000; tag++) if (!left.has(tag)) tags.add(tag)
      expect(tags.floor).toBe(floor())
      for (const tag of held.toSorted(() => ((random.next().value as number) % 2) - 0.5)) {
        tags.add(tag)
        left.delete(tag)
        expect(tags.floor).toBe(floor())
      }
    }),
    { numRuns: runs(20, 5) },
  )
})

it('a job that holds the floor for millions of others takes no memory for each of them', () => {
  const before = process.memoryUsage().arrayBuffers
  const tags = new SettledTags()
  for (let tag = 2; tag <= 4_000_000; tag++) tags.add(tag)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000)
  tags.add(1)
  expect(tags.floor).toBe(4_000_000)
})
