import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SlotMap } from '../../../src/runtime/collections/slot-map.js'

it('what is in its places is what a map would hold, in the same order', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 8 }), fc.boolean())), (steps) => {
      const places = new SlotMap<{ id: string }>()
      const map = new Map<string, { id: string }>()
      for (const [number, remove] of steps) {
        const id = `j${number}`
        if (remove) {
          places.delete(id)
          map.delete(id)
        } else if (!map.has(id)) {
          const item = { id }
          places.add(id, item)
          map.set(id, item)
        }
        expect(places.get(id)).toBe(map.get(id))
        expect(places.size).toBe(map.size)
        expect(places.values()).toEqual([...map.values()])
      }
    }),
  )
})
