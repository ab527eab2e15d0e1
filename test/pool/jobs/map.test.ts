import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readMapOptions } from '../../../src/pool/jobs/map.js'
import { refusal } from '../option-help.js'
import { collect, endless, HandSource, MapBench, quiet } from './map-help.js'

const numbered = (count: number): unknown[][] => Array.from({ length: count }, (_, i) => [i])

describe('results', () => {
  test('in the order of the source, or of completion, each once, whatever the look-ahead and the order of completion', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 12 }), fc.integer({ min: 1, max: 5 }), fc.boolean(), fc.infiniteStream(fc.nat()), async (count, ahead, ordered, picks) => {
        const bench = new MapBench(numbered(count), { ordered, ahead })
        const completed: number[] = []
        const got = collect(bench.results)
        while (completed.length < count) {
          await quiet()
          const open = bench.jobs.filter((job) => !job.isSettled).map((job) => job.number)
          expect(open.length).toBeLessThanOrEqual(ahead)
          const index = open[picks.next().value % open.length]!
          completed.push(index)
          bench.succeed(index, index)
        }
        expect(await got).toEqual(ordered ? completed.toSorted((a, b) => a - b) : completed)
        expect(bench.args).toEqual(numbered(count))
      }),
      { numRuns: 60 },
    )
  })

  test('of an empty source are none', async () => {
    expect(await collect(new MapBench([]).results)).toEqual([])
  })

  test('may be undefined', async () => {
    for (const ordered of [true, false]) {
      expect(await collect(new MapBench(numbered(3), { ordered, answer: () => undefined }).results)).toEqual([undefined, undefined, undefined])
    }
  })
})

describe('a slow source', () => {
  test.each([true, false])('does not delay results that are there (ordered: %s)', async (ordered) => {
    const source = new HandSource()
    const bench = new MapBench(source, { ordered })
    const first = bench.next()
    await quiet()
    await source.give(['a'])
    bench.succeed(0)
    await quiet()
    expect(first.outcome).toEqual({ value: 'result 0' })
    expect(source.pulls).toBe(2)
  })

  test.each([true, false])('gives each item to one job, however many results come meanwhile (ordered: %s)', async (ordered) => {
    const source = new HandSource()
    const bench = new MapBench(source, { ordered, ahead: 5 })
    const nexts = [bench.next(), bench.next(), bench.next(), bench.next()]
    await quiet()
    for (const item of ['a', 'b', 'c']) await source.give([item])
    for (const index of [0, 1, 2]) {
      bench.succeed(index)
      await quiet()
    }
    await source.give(['d'])
    expect(bench.args).toEqual([['a'], ['b'], ['c'], ['d']])
    bench.succeed(3)
    await quiet()
    expect(nexts.map((each) => each.outcome?.value)).toEqual(['result 0', 'result 1', 'result 2', 'result 3'])
  })

  test('is asked for one item at a time, and ends the map when it ends', async () => {
    const source = new HandSource()
    const bench = new MapBench(source)
    const next = bench.next()
    await quiet()
    expect(source.pulls).toBe(1)
    await source.end()
    expect([next.outcome, source.pulls, source.returns]).toEqual([{ done: true }, 1, 0])
  })
})

describe('look-ahead', () => {
  test.each([true, false])('over an endless source is bounded, also for a slow consumer (ordered: %s)', async (ordered) => {
    const { source, taken, returned } = endless()
    const bench = new MapBench(source, { ordered, ahead: 4, answer: () => 1 })
    let seen = 0
    for await (const _ of bench.results) {
      seen++
      await quiet()
      expect(taken()).toBe(seen + 4)
      if (seen === 20) break
    }
    expect([taken(), returned()]).toEqual([24, 1])
    await quiet()
    expect(taken()).toBe(24)
  })

  test('nothing is taken before the first result is asked for', async () => {
    const { source, taken } = endless()
    new MapBench(source)
    await quiet()
    expect(taken()).toBe(0)
  })

  test('waits while the queue is full, and never submits into a full one', async () => {
    let queued = 0
    let most = 0
    const waiters: (() => void)[] = []
    const capacity = {
      get full() {
        return queued >= 2
      },
      ready: () => new Promise<void>((resolve) => waiters.push(resolve)),
      nextTurn: quiet,
    }
    const bench = new MapBench(numbered(6), {
      ahead: 6,
      capacity,
      answer: (args) => {
        most = Math.max(most, ++queued)
        return args
      },
    })
    const got = collect(bench.results)
    while (bench.jobs.length < 6) {
      await quiet()
      expect(queued).toBe(2)
      queued--
      // Another caller may have been resolved first: the map checks again.
      for (const resolve of waiters.splice(0)) resolve()
    }
    expect([await got, most]).toEqual([numbered(6), 2])
  })

  test('a source that never waits does not block the event loop', async () => {
    let turns = 0
    const takenIn = new Map<number, number>()
    const capacity = {
      full: false,
      ready: () => Promise.resolve(),
      nextTurn: () => {
        turns++
        return quiet()
      },
    }
    const answer = (args: unknown) => {
      takenIn.set(turns, (takenIn.get(turns) ?? 0) + 1)
      return args
    }
    await collect(new MapBench(numbered(1_000), { ahead: 1_000, capacity, answer }).results)
    expect(Math.max(...takenIn.values())).toBeLessThanOrEqual(128)
  })

  test('a queue that closes ends the map', async () => {
    const closed = new Error('closed')
    const { source, returned } = endless()
    const bench = new MapBench(source, { capacity: { full: true, ready: () => Promise.reject(closed), nextTurn: quiet } })
    await expect(collect(bench.results)).rejects.toBe(closed)
    await quiet()
    expect([bench.jobs.length, returned()]).toEqual([0, 1])
  })
})

describe('its options', () => {
  const read = (source: unknown, options?: unknown) => readMapOptions('resize', source, options, 8)

  test('have defaults; those of run are passed on', () => {
    expect(read([])).toEqual({ ordered: true, ahead: 8, run: {} })
    expect(read([], null)).toEqual({ ordered: true, ahead: 8, run: {} })
    expect(read(new Set(), { ordered: false, concurrency: 2, timeLimit: 5, priority: 1 })).toEqual({
      ordered: false,
      ahead: 2,
      run: { timeLimit: 5, priority: 1 },
    })
    expect(read(endless().source, { ordered: undefined, concurrency: undefined })).toMatchObject({ ordered: true, ahead: 8 })
  })

  test.each([
    [[], { ordered: 'no' }, "Option 'ordered' must be true or false"],
    [[], { concurrency: 0 }, "Option 'concurrency' must be a whole number of at least 1"],
    [[], { concurency: 2 }, "did you mean 'concurrency'?"],
    [[], { id: 'a' }, "Unknown option 'id' of pool.map('resize', …)"],
    [[], { transfer: [] }, "Unknown option 'transfer' of pool.map('resize', …)"],
    [[], 5, "Option 'options' must be an object"],
    ['abc', {}, 'pool.map wants an iterable of argument arrays'],
    [{}, {}, 'pool.map wants an iterable'],
    [undefined, {}, 'pool.map wants an iterable'],
    [null, {}, 'pool.map wants an iterable'],
  ])('%o with %o is refused', (source, options, message) => {
    expect(refusal(() => read(source, options))).toContain(message)
  })
})
