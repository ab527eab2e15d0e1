import { describe, expect, it } from 'vitest'
import { NodeAutoscaler, wantedWorkers } from '../../src/node/node-autoscaler.js'
import { readNodeOptions } from '../../src/node/options.js'
import { availableCpus } from '../../src/util/available-cpus.js'

const read = (options: object = {}) => readNodeOptions({ tasks: '/tasks.js', ...options })

describe('the scaling rule', () => {
  const rule = { min: 2, max: 8, prefetchPerWorker: 10, upBatch: 3, downBatch: 2 }
  it.each([
    ['under the minimum, whatever the backlog', { depth: 0, alive: 1, idle: 1 }, 2],
    ['under the minimum, the broker does not answer', { depth: undefined, alive: 0, idle: 0 }, 2],
    ['over the maximum', { depth: 999, alive: 9, idle: 0 }, 8],
    ['a backlog equal to the prefetch', { depth: 40, alive: 4, idle: 0 }, 4],
    ['one more', { depth: 41, alive: 4, idle: 0 }, 7],
    ['a batch, but not over the maximum', { depth: 999, alive: 7, idle: 0 }, 8],
    ['a backlog that fits all but one worker, with idle ones', { depth: 30, alive: 4, idle: 4 }, 2],
    ['one more than that', { depth: 31, alive: 4, idle: 4 }, 4],
    ['only the idle are retired', { depth: 0, alive: 6, idle: 1 }, 5],
    ['none is idle', { depth: 0, alive: 6, idle: 0 }, 6],
    ['not under the minimum', { depth: 0, alive: 3, idle: 3 }, 2],
    ['at the minimum', { depth: 0, alive: 2, idle: 2 }, 2],
    ['the broker does not answer', { depth: undefined, alive: 5, idle: 5 }, 5],
  ])('%s', (_what, load, wanted) => {
    expect(wantedWorkers(load, rule)).toBe(wanted)
  })

  it('never leaves its bounds', () => {
    for (let depth = 0; depth < 200; depth += 7)
      for (let alive = 0; alive < 12; alive++)
        for (let idle = 0; idle <= alive; idle++) {
          const wanted = wantedWorkers({ depth, alive, idle }, rule)
          expect(wanted).toBeGreaterThanOrEqual(2)
          expect(wanted).toBeLessThanOrEqual(8)
        }
  })
})

describe('the number of workers', () => {
  const scale = () => {
    const sizes: number[] = []
    return { sizes, scale: new NodeAutoscaler(read({ minWorkers: 2, maxWorkers: 4, prefetchPerWorker: 1, scaleUpBatch: 1 }), (size) => sizes.push(size)) }
  }

  it('follows the backlog within its bounds, and resizes only when something changes', () => {
    const { scale: it, sizes } = scale()
    for (const depth of [9, 9, 9, undefined, 9]) it.check(depth, 0)
    expect(sizes).toEqual([3, 4])
    for (let round = 0; round < 5; round++) it.check(0, 4)
    expect(sizes).toEqual([3, 4, 3, 2])
  })

  it('grow raises the minimum, shrink lowers the maximum, setBounds sets both', () => {
    const { scale: it } = scale()
    it.grow(4)
    expect(it.report).toEqual({ min: 6, max: 6, wanted: 6, auto: false })
    it.check(0, 6)
    expect(it.wanted).toBe(6)
    it.shrink(3)
    expect(it.report).toEqual({ min: 3, max: 3, wanted: 3, auto: false })
    it.shrink(99)
    expect(it.report).toMatchObject({ min: 1, max: 1, wanted: 1 })
    it.setBounds(2, 5)
    expect(it.report).toEqual({ min: 2, max: 5, wanted: 2, auto: true })
  })
})

describe('the maximum of commands', () => {
  const most = 16 * availableCpus()
  const refusal = new RegExp(`${most + 1} workers are more than commands may bring this node to, ${most}: 16 for each of its .* Start it with a maxWorkers`)

  it('refuses more than 16 workers for each processor, and changes nothing', () => {
    const sizes: number[] = []
    const it = new NodeAutoscaler(read({ minWorkers: 1, maxWorkers: 4 }), (size) => sizes.push(size))
    it.grow(most - 1)
    expect(() => it.grow(1)).toThrow(refusal)
    expect(() => it.setBounds(1, most + 1)).toThrow(RangeError)
    expect(it.report).toMatchObject({ min: most, max: most, wanted: most })
    expect(sizes).toEqual([most])
  })

  it('is never below the maxWorkers of the node', () => {
    const it = new NodeAutoscaler(read({ minWorkers: 1, maxWorkers: most + 5 }), () => {})
    it.grow(most + 4)
    expect(() => it.grow(1)).toThrow(RangeError)
    it.shrink(most)
    it.setBounds(1, most + 5)
    expect(it.max).toBe(most + 5)
  })
})
