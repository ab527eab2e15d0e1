import { PoolClosedError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { allUp, sharedPool, startPool } from '../fixtures/pools.js'
import { failure, Latch, until, within } from '../fixtures/support.js'

const collect = async (results: AsyncIterable<unknown>): Promise<unknown[]> => {
  const all = []
  for await (const result of results) all.push(result)
  return all
}

describe('map', () => {
  const shared = sharedPool({ workers: 2, cancelGrace: 200 })

  it('yields the results in the order of the source, whatever their duration', async () => {
    const source = [
      [40, 'a'],
      [1, 'b'],
      [20, 'c'],
      [1, 'd'],
      [1, 'e'],
    ]
    expect(await collect(shared.pool.map('sleep', source))).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(await collect(shared.pool.map('echo', []))).toEqual([])
  })

  it('unordered yields each result when it arrives', async () => {
    const latch = new Latch()
    const results = shared.pool.map('shortUnless', [[latch.path], [], []], { ordered: false, concurrency: 3 })[Symbol.asyncIterator]()
    await within(results.next(), 5_000)
    await within(results.next(), 5_000)
    latch.open()
    expect((await results.next()).done).toBe(false)
    expect((await results.next()).done).toBe(true)
  })

  it('ordered waits for the first result', async () => {
    const latch = new Latch()
    let first = false
    const results = shared.pool.map('shortUnless', [[latch.path], [], []])[Symbol.asyncIterator]()
    const next = results.next().then(() => {
      first = true
    })
    for (let index = 0; index < 5; index += 1) await shared.pool.run('echo', [index])
    expect(first).toBe(false)
    latch.open()
    await next
  })

  it('takes async sources and reads ahead only up to its concurrency', async () => {
    const taken = { count: 0, returned: false }
    const source = (async function* () {
      try {
        for (;;) {
          taken.count += 1
          yield [taken.count]
        }
      } finally {
        taken.returned = true
      }
    })()
    const seen: unknown[] = []
    for await (const value of shared.pool.map('echo', source, { concurrency: 3 })) {
      seen.push(value)
      expect(taken.count).toBeLessThanOrEqual(seen.length + 4)
      if (seen.length === 50) break
    }
    expect(seen).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
    expect(taken.returned).toBe(true)
    const { count } = taken
    await shared.pool.run('echo', [1])
    expect(taken.count).toBe(count)
  })

  it('keeps up to 2 x workers x concurrency jobs pending by default', async () => {
    const pool = await startPool({ workers: 2 })
    await allUp(pool, 2)
    const latch = new Latch()
    let taken = 0
    const source = (function* () {
      for (;;) {
        taken += 1
        yield [latch.path]
      }
    })()
    const results = pool.map('hold', source)[Symbol.asyncIterator]()
    const first = results.next()
    await until('four are out', () => pool.stats().running + pool.stats().queued === 4)
    expect(taken).toBeLessThanOrEqual(5)
    latch.open()
    await first
    await results.return?.(undefined)
  })

  it('cancels its running jobs and calls return() of the source after a break', async () => {
    const pool = await startPool({ workers: 2 })
    const latch = new Latch()
    let returned = 0
    const source = (function* () {
      try {
        yield []
        for (;;) yield [latch.path]
      } finally {
        returned += 1
      }
    })()
    const cancelled: string[] = []
    pool.on('jobSettled', ({ id, state }) => state === 'cancelled' && cancelled.push(id))
    for await (const _ of pool.map('shortUnless', source)) break
    expect(returned).toBe(1)
    await until('nothing is left', () => pool.stats().running === 0 && pool.stats().queued === 0)
    expect(cancelled.length).toBeGreaterThanOrEqual(1)
    expect(pool.stats().totals.succeeded).toBe(1)
  })

  it('ends at the first error: it cancels the other jobs and returns the source', async () => {
    const pool = await startPool({ workers: 2 })
    const latch = new Latch()
    let returned = 0
    const source = (function* () {
      try {
        yield [undefined, latch.path]
        yield ['the second fails']
        for (;;) yield [undefined, latch.path]
      } finally {
        returned += 1
      }
    })()
    expect(await failure(collect(pool.map('throwOrHold', source, { ordered: false })))).toMatchObject({ message: 'the second fails' })
    expect(returned).toBe(1)
    await until('nothing is left', () => pool.stats().running === 0 && pool.stats().queued === 0)
    expect(pool.stats().totals).toMatchObject({ succeeded: 0, failed: 1 })
    expect(pool.stats().totals.cancelled).toBeGreaterThanOrEqual(1)
  })

  it('ends at an error of the source', async () => {
    const source = (async function* () {
      yield [1]
      throw new RangeError('the source failed')
    })()
    expect(await failure(collect(shared.pool.map('echo', source)))).toMatchObject({ name: 'RangeError', message: 'the source failed' })
  })

  it('yields the results of earlier items before an error of the source', async () => {
    const source = (function* () {
      yield [1]
      yield [2]
      throw new RangeError('the source failed')
    })()
    const got: unknown[] = []
    const error = await failure(
      (async () => {
        for await (const value of shared.pool.map('echo', source)) got.push(value)
      })(),
    )
    expect([got, error]).toMatchObject([[1, 2], { name: 'RangeError', message: 'the source failed' }])
  })

  it.each([true, false])('yields the submitted results when the pool closes, then throws that it was cut short (ordered: %s)', async (ordered) => {
    const pool = await startPool({ workers: 2 })
    const latch = new Latch()
    let returned = 0
    const source = (function* () {
      try {
        for (;;) yield [latch.path]
      } finally {
        returned += 1
      }
    })()
    let delivered = 0
    const failed = failure(
      (async () => {
        for await (const _ of pool.map('shortUnless', source, { ordered, concurrency: 4 })) delivered += 1
      })(),
    )
    await until('two run', () => pool.stats().running === 2 && pool.stats().queued === 2)
    const closed = pool.close()
    latch.open()
    const error = await within(failed, 20_000)
    expect(error).toBeInstanceOf(PoolClosedError)
    expect(error).toMatchObject({ message: expect.stringContaining('to the end: 4 jobs were run,') })
    await closed
    expect([delivered, returned, pool.stats().totals.succeeded, pool.stats().totals.cancelled]).toEqual([4, 1, 4, 0])
  })

  it('rejects at once when the pool is terminated', async () => {
    const pool = await startPool({ workers: 2 })
    const failed = failure(collect(pool.map('never', Array(6).fill([]), { concurrency: 4 })))
    await until('two run', () => pool.stats().running === 2)
    const ended = pool.terminate()
    const error = await within(failed, 20_000)
    expect(error).toBeInstanceOf(PoolClosedError)
    expect(error).toMatchObject({ message: expect.stringContaining('The pool was terminated before') })
    await ended
  })

  it('stops when its signal aborts', async () => {
    const controller = new AbortController()
    const results = collect(shared.pool.map('never', Array(4).fill([]), { signal: controller.signal }))
    setTimeout(() => controller.abort('enough'), 50)
    expect(await failure(results)).toBe('enough')
  })

  it('passes its options to each job', async () => {
    expect(await failure(collect(shared.pool.map('never', [[]], { timeLimit: 60 })))).toMatchObject({ name: 'TimeLimitError', limit: 60 })
  })

  it('waits for room under maxQueue instead of failing', async () => {
    const pool = await startPool({ maxQueue: 2 })
    expect(
      await collect(
        pool.map(
          'echo',
          Array.from({ length: 50 }, (_, index) => [index]),
          { concurrency: 10 },
        ),
      ),
    ).toHaveLength(50)
  })

  it('throws a TypeError when the source yields no argument array', async () => {
    expect(await failure(collect(shared.pool.map('echo', [1, 2] as never)))).toBeInstanceOf(TypeError)
  })

  it('rejects for an unknown task', async () => {
    expect(await failure(collect(shared.pool.map('ecoh', [[1]])))).toMatchObject({ name: 'TaskNotFoundError' })
  })
})
