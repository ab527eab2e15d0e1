import { availableParallelism } from 'node:os'
import { describe, expect, it } from 'vitest'
import type { Broker } from '../../src/node/broker.js'
import { packageVersion } from '../../src/node/node-stats.js'
import { readNodeOptions } from '../../src/node/options.js'
import { PrefetchControl } from '../../src/node/prefetch-control.js'
import { ScaleControl, wantedWorkers } from '../../src/node/scale-control.js'
import { ShutdownDeadline } from '../../src/node/shutdown.js'

describe('the scaling rule', () => {
  const rule = { min: 2, max: 8, prefetchPerWorker: 10, upBatch: 3, downBatch: 2 }
  it.each([
    ['under the minimum, whatever the backlog', { depth: 0, alive: 1, idle: 1 }, 2],
    ['under the minimum, the broker silent', { depth: undefined, alive: 0, idle: 0 }, 2],
    ['over the maximum', { depth: 999, alive: 9, idle: 0 }, 8],
    ['a backlog of just what they may hold', { depth: 40, alive: 4, idle: 0 }, 4],
    ['one more', { depth: 41, alive: 4, idle: 0 }, 7],
    ['a batch, but not over the maximum', { depth: 999, alive: 7, idle: 0 }, 8],
    ['what all but one could hold, with idle ones', { depth: 30, alive: 4, idle: 4 }, 2],
    ['one more than that', { depth: 31, alive: 4, idle: 4 }, 4],
    ['only the idle are retired', { depth: 0, alive: 6, idle: 1 }, 5],
    ['none is idle', { depth: 0, alive: 6, idle: 0 }, 6],
    ['not under the minimum', { depth: 0, alive: 3, idle: 3 }, 2],
    ['at the minimum', { depth: 0, alive: 2, idle: 2 }, 2],
    ['the broker silent', { depth: undefined, alive: 5, idle: 5 }, 5],
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

const read = (options: object = {}) => readNodeOptions({ tasks: '/tasks.js', ...options })

describe('the options of a node', () => {
  it('have their defaults', () => {
    expect(read()).toMatchObject({
      minWorkers: 1,
      maxWorkers: 10,
      prefetchPerWorker: 10,
      concurrency: 10,
      scaleUpBatch: 2,
      scaleDownBatch: 1,
      scaleCheckInterval: 1_000,
      shutdownGrace: 15_000,
      heartbeatInterval: 1_000,
      maxStall: undefined,
      taskHistory: 300,
      maxLosses: 3,
      maxAttempts: 3,
      backoff: { kind: 'exponential', delay: 1_000, maxDelay: 60_000, jitter: 0.2 },
      unknownTask: 'retry',
      maxBodySize: 64 * 1024 * 1024,
    })
    expect(read().name).toMatch(/-\d+-[a-z]{4}$/)
    expect(read({ maxWorkers: undefined, prefetchPerWorker: 4 })).toMatchObject({ maxWorkers: 10, concurrency: 4 })
    expect(read({ imports: ['./boot.js', 'tsx'], tasks: undefined, roots: '/' }).imports).toEqual([expect.stringMatching(/^file:.*boot\.js$/), 'tsx'])
  })

  it.each([
    [{ minWorker: 2 }, /Unknown option 'minWorker' of the node; did you mean 'minWorkers'/],
    [{ tasks: undefined }, /Option 'tasks' is missing/],
    [{ tasks: 5 }, /Option 'tasks' must be/],
    [{ minWorkers: 0 }, /Option 'minWorkers' must be a whole number from 1/],
    [{ minWorkers: 5, maxWorkers: 4 }, /Option 'maxWorkers' must be at least minWorkers, 5/],
    [{ concurrency: 11 }, /Option 'concurrency' must be at most prefetchPerWorker, 10/],
    [{ shutdownGrace: -1 }, /Option 'shutdownGrace' must be a number of milliseconds/],
    [{ scaleCheckInterval: 0 }, /Option 'scaleCheckInterval' must be/],
    [{ softTimeLimit: 10, timeLimit: 5 }, /Option 'timeLimit' must be at least the softTimeLimit of 10 ms/],
    [{ imports: ['./boot.js', 5] }, /Option 'imports\[1\]' must be a path, a file: URL: .* it was given 5\./],
    [{ roots: '/no/such/folder' }, /Option 'roots' must be folders that exist/],
    [{ name: 'a b' }, /Option 'name' must be/],
    [{ backoff: { kind: 'linear', delay: 1 } }, /Option 'backoff.kind' must be 'fixed' or 'exponential'/],
    [{ backoff: { kind: 'fixed', delay: 1, jiter: 1 } }, /Unknown option 'jiter' of backoff; did you mean 'jitter'/],
    [{ backoff: { kind: 'fixed', delay: 1, jitter: 2 } }, /Option 'backoff.jitter' must be a share from 0 to 1/],
    [{ taskDefaults: { a: { rateLimit: 'fast' } } }, /Option 'taskDefaults.a.rateLimit' must be starts per second/],
    [{ taskDefaults: { a: { maxAttempt: 1 } } }, /did you mean 'maxAttempts'/],
    [{ unknownTask: 'drop' }, /Option 'unknownTask' must be 'retry' or 'dead-letter'/],
    [{ logger: {} }, /Option 'logger' must be a pino logger/],
    [{ maxLosses: 0 }, /Option 'maxLosses' must be/],
  ])('%j is refused', (options, message) => {
    expect(() => read(options)).toThrow(message)
  })
})

describe('the scale', () => {
  const scale = () => {
    const sizes: number[] = []
    return { sizes, scale: new ScaleControl(read({ minWorkers: 2, maxWorkers: 4, prefetchPerWorker: 1, scaleUpBatch: 1 }), (size) => sizes.push(size)) }
  }

  it('follows the backlog within its bounds, and resizes only when something changes', () => {
    const { scale: it, sizes } = scale()
    for (const depth of [9, 9, 9, undefined, 9]) it.check(depth, 0)
    expect(sizes).toEqual([3, 4])
    for (let round = 0; round < 5; round++) it.check(0, 4)
    expect(sizes).toEqual([3, 4, 3, 2])
  })

  it('grow raises the floor, shrink lowers the ceiling, bounds sets both', () => {
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

describe('the ceiling of commands', () => {
  const most = 16 * availableParallelism()
  const refusal = new RegExp(`${most + 1} workers are more than commands may bring this node to, ${most}: 16 for each of its .* Start it with a maxWorkers`)

  it('refuses what the processors cannot use, and leaves all as it was', () => {
    const sizes: number[] = []
    const it = new ScaleControl(read({ minWorkers: 1, maxWorkers: 4 }), (size) => sizes.push(size))
    it.grow(most - 1)
    expect(() => it.grow(1)).toThrow(refusal)
    expect(() => it.setBounds(1, most + 1)).toThrow(RangeError)
    expect(it.report).toMatchObject({ min: most, max: most, wanted: most })
    expect(sizes).toEqual([most])
  })

  it('is never below what the node was started for', () => {
    const it = new ScaleControl(read({ minWorkers: 1, maxWorkers: most + 5 }), () => {})
    it.grow(most + 4)
    expect(() => it.grow(1)).toThrow(RangeError)
    it.shrink(most)
    it.setBounds(1, most + 5)
    expect(it.max).toBe(most + 5)
  })
})

describe('the intake', () => {
  const intake = () => {
    const calls: string[] = []
    const consumption = {
      setCapacity: (capacity: number) => calls.push(`capacity ${capacity}`),
      pause: async () => void calls.push('pause'),
      resume: () => calls.push('resume'),
      stop: async () => void calls.push('stop'),
    }
    const consume = (capacity: number) => {
      calls.push(`consume ${capacity}`)
      return consumption
    }
    const broker = { consume } as unknown as Broker
    return { calls, intake: new PrefetchControl(broker, 5) }
  }

  it('has room for as many as are up, never more than are wanted', () => {
    const { calls, intake: it } = intake()
    it.start(1, 3, () => {})
    it.workersChanged(2, 3)
    it.workersChanged(4, 3)
    it.workersChanged(3, 2)
    expect(calls).toEqual(['consume 5', 'capacity 10', 'capacity 15', 'capacity 10'])
    expect(it.capacity).toBe(10)
  })

  it('counts on a worker that died for a round, and then no more', () => {
    const { calls, intake: it } = intake()
    it.start(2, 2, () => {})
    it.check(1, 2)
    it.check(2, 2)
    it.check(1, 2)
    expect(calls).toEqual(['consume 10'])
    it.check(1, 2)
    expect(calls).toEqual(['consume 10', 'capacity 5'])
  })

  it('pauses when nobody is there, and goes on with the first that is', () => {
    const { calls, intake: it } = intake()
    it.start(1, 1, () => {})
    it.check(0, 1)
    it.check(0, 1)
    expect(calls).toEqual(['consume 5', 'pause'])
    it.workersChanged(1, 1)
    expect(calls).toEqual(['consume 5', 'pause', 'capacity 5', 'resume'])
  })

  it('stays paused while the operator wants it, whatever the workers do', async () => {
    const { calls, intake: it } = intake()
    it.start(1, 2, () => {})
    await it.pause()
    it.workersChanged(2, 2)
    await it.pause()
    await it.resume()
    await it.stop()
    it.workersChanged(1, 1)
    expect(calls).toEqual(['consume 5', 'pause', 'capacity 10', 'resume', 'stop'])
  })
})

it('a countdown can be brought forward, not put off', async () => {
  const countdown = new ShutdownDeadline(600_000)
  countdown.shorten(900_000)
  expect(countdown.left).toBeLessThanOrEqual(600_000)
  countdown.shorten(1)
  expect(countdown.left).toBeLessThanOrEqual(1)
  await countdown.expired
})

it('the version is that of the package', () => {
  expect(packageVersion()).toMatch(/^\d+\.\d+\.\d+/)
})
