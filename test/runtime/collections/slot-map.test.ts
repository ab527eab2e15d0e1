import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SlotMap } from '../../../src/runtime/collections/slot-map.js'

it('a SlotMap holds what a Map would hold, in the same order', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 8 }), fc.boolean())), (steps) => {
      const slots = new SlotMap<{ id: string }>()
      const map = new Map<string, { id: string }>()
      for (const [number, remove] of steps) {
        const id = `j${number}`
        if (remove) {
          slots.delete(id)
          map.delete(id)
        } else if (!map.has(id)) {
          const item = { id }
          slots.add(id, item)
          map.set(id, item)
        }
        expect(slots.get(id)).toBe(map.get(id))
        expect(slots.size).toBe(map.size)
        expect(slots.values()).toEqual([...map.values()])
      }
    }),
  )
})
