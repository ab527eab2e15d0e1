import { describe, expect, it } from 'vitest'
import { readNodeOptions } from '../../../src/node/options.js'
import type { Load } from '../../../src/node/scaling/growth.js'
import { NodeAutoscaler, type Workers } from '../../../src/node/scaling/node-autoscaler.js'
import { availableCpus } from '../../../src/util/available-cpus.js'

const read = (options: object = {}) => readNodeOptions({ tasks: '/tasks.js', ...options })

const system = { cpus: 2, now: 0, random: () => 0 }

/** A node without work. */
const QUIET: Load = {
  now: 0,
  waiting: [],
  waited: 0,
  ready: { jobs: 0, runTime: undefined },
  asked: true,
  roomTaken: false,
  shared: false,
  running: 0,
  lastBegan: 0,
  up: 1,
  starting: 0,
  startTime: 300,
  startsFail: false,
  cpuFree: true,
}
const IDLE: Workers = { idle: 0, needed: 0 }

const scaler = (options: object = {}) => {
  const sizes: number[] = []
  const scale = new NodeAutoscaler(read({ minWorkers: 2, maxWorkers: 4, keepAlive: 3_000, ...options }), system, (size) => sizes.push(size))
  const check = (load: Partial<Load>, workers: Partial<Workers> = {}): number => {
    scale.check({ ...QUIET, ...load }, { ...IDLE, ...workers })
    return scale.wanted
  }
  return { sizes, scale, check }
}

describe('the number of workers', () => {
  it('follows what waits up to its maximum, and resizes only when something changes', () => {
    const { check, sizes } = scaler()
    const waiting = [{ jobs: 9, runTime: undefined }]
    expect(check({ now: 100, waiting, waited: 100, running: 2, up: 2 })).toBe(2)
    expect(check({ now: 250, waiting, waited: 250, running: 2, up: 2 })).toBe(4)
    expect(check({ now: 500, waiting, waited: 500, running: 4, up: 4 })).toBe(4)
    expect(sizes).toEqual([4])
  })

  it('falls to the most that were needed at once in the last keepAlive, one idle worker in each scaleCheckInterval', () => {
    const { check, sizes } = scaler({ minWorkers: 1 })
    check({ now: 250, waiting: [{ jobs: 9, runTime: undefined }], waited: 250, running: 1, up: 1 })
    check({ now: 500, running: 3, up: 3 }, { needed: 3 })
    expect(sizes).toEqual([3])
    // Of the last three seconds, the load of three workers is still a part.
    for (let now = 1_000; now <= 3_500; now += 250) expect(check({ now, up: 3, running: 2 }, { needed: 2, idle: 1 })).toBe(3)
    expect(check({ now: 4_000, up: 3, running: 0 }, { needed: 0, idle: 3 })).toBe(2)
    // Two were needed until half a second ago.
    for (let now = 4_250; now <= 6_500; now += 250) expect(check({ now, up: 2 }, { idle: 2 })).toBe(2)
    expect(check({ now: 7_000, up: 2 }, { idle: 2 })).toBe(1)
  })

  it('keeps what it started for keepAlive from when it is up', () => {
    const { check } = scaler({ minWorkers: 1 })
    check({ now: 250, waiting: [{ jobs: 9, runTime: undefined }], waited: 250, running: 1, up: 1 })
    // The starts take longer than keepAlive.
    for (let now = 500; now <= 8_000; now += 250) check({ now, up: 1, starting: 2, running: 1 }, { needed: 1 })
    for (let now = 8_250; now <= 11_000; now += 250) expect(check({ now, up: 3 }, { idle: 3 })).toBe(3)
    expect(check({ now: 11_250, up: 3 }, { idle: 3 })).toBe(2)
  })

  it('a replacement that starts keeps none', () => {
    const { check } = scaler({ minWorkers: 1 })
    check({ now: 250, waiting: [{ jobs: 9, runTime: undefined }], waited: 250, running: 1, up: 1 })
    check({ now: 500, up: 3 }, { needed: 3 })
    for (let now = 750; now <= 3_500; now += 250) check({ now, up: 2, starting: 1 }, { needed: 1 })
    expect(check({ now: 4_000, up: 3 }, { idle: 3 })).toBe(2)
  })

  it.each<[string, Partial<Load>, Partial<Workers>]>([
    ['a worker starts', { starting: 1 }, { idle: 3 }],
    ['a job waits', { waited: 10 }, { idle: 3 }],
    ['none is idle', {}, { idle: 0 }],
  ])('retires none while %s', (_what, load, workers) => {
    const { check, scale } = scaler()
    scale.grow(2)
    scale.setBounds(1, 4)
    expect(check({ now: 10_000, up: 4, ...load }, workers)).toBe(4)
    expect(check({ now: 10_000, up: 4 }, { idle: 3 })).toBe(3)
  })

  it('retires none before it has run for keepAlive', () => {
    const { check, scale } = scaler()
    scale.grow(1)
    scale.setBounds(1, 4)
    expect(check({ now: 2_999, up: 3 }, { idle: 3 })).toBe(3)
    expect(check({ now: 3_000, up: 3 }, { idle: 3 })).toBe(2)
  })

  it('grow raises the minimum, shrink lowers the maximum, setBounds sets both', () => {
    const { scale: it, check } = scaler()
    it.grow(4)
    expect(it.report).toEqual({ min: 6, max: 6, wanted: 6, auto: false })
    expect(check({ now: 10_000, up: 6 }, { idle: 6 })).toBe(6)
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
    const { scale: it, sizes } = scaler({ minWorkers: 1 })
    it.grow(most - 1)
    expect(() => it.grow(1)).toThrow(refusal)
    expect(() => it.setBounds(1, most + 1)).toThrow(RangeError)
    expect(it.report).toMatchObject({ min: most, max: most, wanted: most })
    expect(sizes).toEqual([most])
  })

  it('is never below the maxWorkers of the node', () => {
    const { scale: it } = scaler({ minWorkers: 1, maxWorkers: most + 5 })
    it.grow(most + 4)
    expect(() => it.grow(1)).toThrow(RangeError)
    it.shrink(most)
    it.setBounds(1, most + 5)
    expect(it.max).toBe(most + 5)
  })
})
