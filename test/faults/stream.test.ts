import { describe, expect, it } from 'vitest'
import { fixture, pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { failure, Journal, until, within } from '../fixtures/support.js'

const collect = async (items: AsyncIterable<unknown>): Promise<unknown[]> => {
  const all = []
  for await (const item of items) all.push(item)
  return all
}

describe('stream', () => {
  const shared = sharedPool({ tasks: [fixture('streams.js'), fixture('second.js')], workers: 2 })
  const journalOf = () => new Journal()

  it('yields every item in order', async () => {
    expect(await collect(shared.pool.stream('upTo', [0]))).toEqual([])
    expect(await collect(shared.pool.stream('upTo', [1000]))).toEqual(Array.from({ length: 1000 }, (_, index) => index))
  })

  it('waits for a slow consumer: items produced stay near items consumed', async () => {
    const journal = journalOf()
    const items = shared.pool.stream('endless', [journal.path])[Symbol.asyncIterator]()
    for (let index = 0; index < 5; index += 1) expect((await items.next()).value).toBe(index)
    let last = -1
    await until('the producer stands still', async () => {
      const before = last
      last = journal.lines.length
      await new Promise((resolve) => setTimeout(resolve, 100))
      return journal.lines.length === before
    })
    expect(last).toBeGreaterThanOrEqual(5)
    expect(last).toBeLessThanOrEqual(5 + 2 * 16)
    expect((await items.next()).value).toBe(5)
    await items.return?.(undefined)
    await journal.seen('finally')
  })

  it('bounds large items by their bytes too', async () => {
    const journal = journalOf()
    const items = shared.pool.stream('endless', [journal.path, 4_000_000])[Symbol.asyncIterator]()
    expect((await items.next()).value).toHaveLength(4_000_000)
    let last = -1
    await until('the producer stands still', async () => {
      const before = last
      last = journal.lines.length
      await new Promise((resolve) => setTimeout(resolve, 200))
      return journal.lines.length === before
    })
    expect(last).toBeLessThan(16)
    for (let index = 0; index < 20; index += 1) expect((await items.next()).done).toBe(false)
    await items.return?.(undefined)
  })

  it('cancels the job after a break and runs the finally of the generator; the worker stays alive', async () => {
    const pool = await startPool({ tasks: fixture('streams.js') })
    const pid = await pidOf(pool)
    const journal = journalOf()
    for await (const item of pool.stream('endless', [journal.path])) if (item === 40) break
    await journal.seen('finally')
    await until('the slot is free', () => pool.stats().running === 0)
    expect(journal.lines.filter((line) => line === 'finally')).toHaveLength(1)
    expect(await pidOf(pool)).toBe(pid)
  })

  it('interrupts a generator that computes after a break; other jobs of its worker go on', async () => {
    const pool = await startPool({ tasks: fixture('streams.js'), concurrency: 2 })
    const pid = await pidOf(pool)
    const neighbour = journalOf()
    // Ended with the pool.
    collect(pool.stream('waits', [neighbour.path])).catch(() => {})
    await until('the neighbour runs', () => pool.stats().running === 1)
    for await (const _ of pool.stream('computes', [30_000])) break
    await until('it has ended', () => pool.stats().running === 1)
    // What stands still now would be killed for it.
    expect(await within(collect(pool.stream('upTo', [3])), 10_000)).toEqual([0, 1, 2])
    expect(await pidOf(pool)).toBe(pid)
  })

  it('interrupts a generator that computes when its signal aborts; the worker runs the next job', async () => {
    const pool = await startPool({ tasks: fixture('streams.js'), cancelGrace: 20_000 })
    const pid = await pidOf(pool)
    const controller = new AbortController()
    const consumed = failure(
      (async () => {
        for await (const _ of pool.stream('computes', [30_000], { signal: controller.signal })) controller.abort()
      })(),
    )
    expect(await within(consumed, 10_000)).toMatchObject({ name: 'AbortError' })
    expect(await within(collect(pool.stream('upTo', [3])), 10_000)).toEqual([0, 1, 2])
    expect(await pidOf(pool)).toBe(pid)
  })

  it('aborts the signal after a break while the generator waits, and runs its finally', async () => {
    const journal = journalOf()
    for await (const item of shared.pool.stream('waits', [journal.path])) {
      expect(item).toBe('first')
      break
    }
    await journal.seen('finally')
    expect(journal.lines).toEqual(['aborted', 'finally'])
  })

  it('throws the error of the generator after its items', async () => {
    const seen: unknown[] = []
    const consumed = (async () => {
      for await (const item of shared.pool.stream('fails', [3])) seen.push(item)
    })()
    const error = await failure(consumed)
    expect(error).toBeInstanceOf(RangeError)
    expect(error).toMatchObject({ message: 'the generator failed' })
    expect(seen).toEqual([0, 1, 2])
  })

  it('throws WorkerLostError after the items that had arrived', async () => {
    const seen: unknown[] = []
    const consumed = (async () => {
      for await (const item of shared.pool.stream('diesAfter', [3])) seen.push(item)
    })()
    expect(await failure(consumed)).toMatchObject({ name: 'WorkerLostError', accepted: true })
    expect(seen).toEqual([0, 1, 2])
  })

  it('runs beside others, each with its own credit', async () => {
    const pool = await startPool({ tasks: fixture('streams.js'), concurrency: 3 })
    const stalled = pool.stream('endless', [])[Symbol.asyncIterator]()
    await stalled.next()
    expect(await within(Promise.all([collect(pool.stream('upTo', [500])), collect(pool.stream('upTo', [300]))]), 10_000)).toMatchObject([
      { length: 500 },
      { length: 300 },
    ])
    expect(await within(pidOf(pool), 5_000)).toBeTypeOf('number')
    await stalled.return?.(undefined)
  })

  it('obeys time limits and signals', async () => {
    expect(await failure(collect(shared.pool.stream('slow', [30], { timeLimit: 150 })))).toMatchObject({ name: 'TimeLimitError' })
    const controller = new AbortController()
    const stopped = collect(shared.pool.stream('slow', [5], { signal: controller.signal }))
    setTimeout(() => controller.abort('enough'), 60)
    expect(await failure(stopped)).toBe('enough')
  })

  it('rejects for an unknown task and lists the known ones', async () => {
    expect(await failure(collect(shared.pool.stream('upTp', [1])))).toMatchObject({ name: 'TaskNotFoundError' })
  })

  it('rejects on a closed pool; an open stream keeps close() waiting until it is read', async () => {
    const pool = await startPool({ tasks: fixture('streams.js') })
    const items = pool.stream('upTo', [200])[Symbol.asyncIterator]()
    expect((await items.next()).value).toBe(0)
    const closed = pool.close()
    let rest = 0
    while (!(await within(items.next(), 5_000)).done) rest += 1
    expect(rest).toBe(199)
    await within(closed, 20_000)
    expect(await failure(collect(pool.stream('upTo', [1])))).toMatchObject({ name: 'PoolClosedError' })
  })

  it('ends with PoolClosedError when the pool is terminated', async () => {
    const pool = await startPool({ tasks: fixture('streams.js') })
    const items = pool.stream('slow', [5])[Symbol.asyncIterator]()
    await items.next()
    const rest = (async () => {
      while (!(await items.next()).done);
    })()
    rest.catch(() => {})
    await pool.terminate()
    expect(await failure(rest)).toMatchObject({ name: 'PoolClosedError' })
  })
})
