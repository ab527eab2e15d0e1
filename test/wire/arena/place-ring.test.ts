import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PlaceRing } from '../../../src/wire/arena/place-ring.js'
import { runs } from '../../fixtures/runs.js'

interface Place {
  start: number
  end: number
  key: number
}

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('take' as const), bytes: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('freeUpTo' as const), count: fc.nat({ max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeBetween' as const), count: fc.nat({ max: 4 }), missing: fc.nat({ max: 1 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeAllBut' as const), count: fc.nat({ max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeLast' as const) }) },
)

describe('the ring of places', () => {
  it('gives places that do not overlap and lie inside, and refuses only what finds no room at either end', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.array(step, { maxLength: 80 }), (capacity, steps) => {
        const ring = new PlaceRing(capacity)
        let used: Place[] = []
        let key = 0
        for (const each of steps) {
          if (each.do === 'take') {
            const start = ring.take(each.bytes, ++key)
            const end = start + each.bytes
            if (start < 0) {
              const first = used[0]?.start ?? 0
              const last = used.at(-1)?.end ?? 0
              const free = used.length === 0 ? capacity : last > first ? Math.max(capacity - last, first) : first - last
              expect(free).toBeLessThan(each.bytes)
              continue
            }
            expect(end).toBeLessThanOrEqual(capacity)
            for (const other of used) expect(start >= other.end || end <= other.start).toBe(true)
            used.push({ start, end, key })
          } else if (each.do === 'freeUpTo') {
            const upTo = used[each.count - 1]?.key ?? 0
            ring.freeUpTo(upTo)
            used = used.filter((place) => place.key > upTo)
          } else if (each.do === 'freeBetween') {
            const after = used.at(-1 - each.count)?.key ?? key
            const last = used.at(-1)?.key ?? 0
            ring.freeBetween(after, last - each.missing)
            if (each.missing === 0) used = used.filter((place) => place.key <= after)
          } else if (each.do === 'freeAllBut') {
            ring.freeAllBut(each.count)
            used = each.count === 0 ? [] : used.slice(-each.count)
          } else {
            ring.freeLast()
            used.pop()
          }
          expect(ring.empty).toBe(used.length === 0)
        }
      }),
      { numRuns: runs(2_000, 300) },
    )
  })

  it('begins at 0 again when nothing is in use, so that the same pages are used', () => {
    const ring = new PlaceRing(100)
    for (let key = 1; key < 5; key++) {
      expect(ring.take(60, key)).toBe(0)
      ring.freeUpTo(key)
    }
    expect(ring.take(101, 5)).toBe(-1)
    expect(ring.take(100, 5)).toBe(0)
  })
})
