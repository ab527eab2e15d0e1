import { describe, expect, it } from 'vitest'
import type { CpuProfile, CpuProfileNode } from '../../../src/wire/cpu-profile.js'
import { boundProfile } from '../../../src/worker/watchdog/bound-profile.js'

const frame = (functionName: string, url = 'file:///tasks.js') => ({ functionName, scriptId: '1', url, lineNumber: 1, columnNumber: 2 })
const node = (id: number, name: string, hitCount: number, children?: number[]): CpuProfileNode => ({
  id,
  callFrame: frame(name),
  hitCount,
  ...(children === undefined ? {} : { children }),
})
const profileOf = (nodes: CpuProfileNode[], samples: number[]): CpuProfile => ({
  nodes,
  samples,
  timeDeltas: samples.map(() => 1_000),
  startTime: 5,
  endTime: 5 + samples.length * 1_000,
})

/** root → a (3) → b (1) → c (1); root → d (2) */
const small = (): CpuProfile =>
  profileOf([node(1, '(root)', 0, [2, 5]), node(2, 'a', 3, [3]), node(3, 'b', 1, [4]), node(4, 'c', 1), node(5, 'd', 2)], [2, 2, 2, 3, 4, 5, 5])

describe('boundProfile', () => {
  it('leaves a small profile as it is', () => {
    expect(boundProfile(small(), 5)).toEqual(small())
  })

  it('counts the calls with the fewest samples for their callers', () => {
    expect(boundProfile(small(), 4)).toEqual(
      profileOf([node(1, '(root)', 0, [2, 5]), node(2, 'a', 3, [3]), node(3, 'b', 2), node(5, 'd', 2)], [2, 2, 2, 3, 3, 5, 5]),
    )
    // b and d weigh the same.
    expect(boundProfile(small(), 3)).toEqual(profileOf([node(1, '(root)', 2, [2]), node(2, 'a', 5)], [2, 2, 2, 2, 2, 1, 1]))
  })

  it('keeps the root', () => {
    expect(boundProfile(small(), 1).nodes).toEqual([node(1, '(root)', 7)])
    const chain = Array.from({ length: 100 }, (_, n) => node(n + 1, `f${n}`, n === 99 ? 1 : 0, n === 99 ? undefined : [n + 2]))
    expect(boundProfile(profileOf(chain, [100]), 10)).toMatchObject({ nodes: [{ id: 1, hitCount: 1 }], samples: [1] })
  })

  it('cuts texts as long as the code', () => {
    const long = {
      ...node(1, 'n'.repeat(10_000), 0),
      callFrame: frame('n'.repeat(10_000), `data:text/javascript,${'x'.repeat(10_000)}`),
      deoptReason: 'r'.repeat(10_000),
    }
    expect(JSON.stringify(boundProfile(profileOf([long], []), 10)).length).toBeLessThan(1_200)
  })
})
