import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { sharedPool } from '../fixtures/pools.js'
import { failure, Journal, Latch, until } from '../fixtures/support.js'

describe('promise 4: a job with a signal option', () => {
  const shared = sharedPool({ cancelGrace: 200 })

  it('rejects with the reason and never runs when the signal has already aborted', async () => {
    const journal = new Journal()
    const reason = { any: 'value' }
    const job = shared.pool.submit('mark', [journal.path, 'ran'], { signal: AbortSignal.abort(reason) })
    expect(await failure(job.result)).toBe(reason)
    expect(await job.began).toBe(false)
    expect(job).toMatchObject({ state: 'cancelled', accepted: false })
    expect(await failure(shared.pool.run('mark', [journal.path, 'ran'], { signal: AbortSignal.abort() }))).toMatchObject({ name: 'AbortError' })
    await shared.pool.run('echo', [1])
    expect(journal.lines).toEqual([])
  })

  it('is cancelled while queued when the signal aborts', async () => {
    const journal = new Journal()
    const latch = new Latch()
    const controller = new AbortController()
    const holder = shared.pool.run('hold', [latch.path, journal.path, 'holder'])
    const job = shared.pool.submit('mark', [journal.path, 'ran'], { signal: controller.signal })
    await journal.seen('+holder')
    controller.abort('too late')
    expect(job.state).toBe('cancelled')
    expect(await failure(job.result)).toBe('too late')
    expect(await job.began).toBe(false)
    latch.open()
    await holder
    await shared.pool.run('echo', [1])
    expect(journal.lines).toEqual(['+holder', '-holder'])
  })

  it('is cancelled while running: the signal of the task has the same reason', async () => {
    const journal = new Journal()
    const controller = new AbortController()
    const job = shared.pool.submit('untilAborted', [journal.path], { signal: controller.signal })
    await journal.seen('begun')
    controller.abort()
    expect(await failure(job.result)).toBe(controller.signal.reason)
    await journal.seen('aborted AbortError 20 This operation was aborted')
    expect(await job.began).toBe(true)
  })

  it('rejects with the TimeoutError of AbortSignal.timeout', async () => {
    const error = await failure(shared.pool.run('untilAborted', [], { signal: AbortSignal.timeout(50) }))
    expect(error).toMatchObject({ name: 'TimeoutError' })
  })

  it('is unaffected by a later abort and removes its listener when it settles', async () => {
    const controller = new AbortController()
    const jobs = Array.from({ length: 20 }, (_, index) => shared.pool.run('echo', [index], { signal: controller.signal }))
    await Promise.all(jobs)
    await failure(shared.pool.run('exitWith', [1], { signal: controller.signal }))
    await until('no listener is left', () => getEventListeners(controller.signal, 'abort').length === 0)
    controller.abort()
    expect(await jobs[0]).toBe(0)
  })

  it('is cancelled together with the hundred jobs that share the signal', async () => {
    const controller = new AbortController()
    const jobs = Array.from({ length: 100 }, () => shared.pool.submit('untilAborted', [], { signal: controller.signal }))
    await until('the first runs', () => jobs[0]!.accepted)
    controller.abort('all')
    expect(new Set(await Promise.all(jobs.map((job) => failure(job.result))))).toEqual(new Set(['all']))
    const began = await Promise.all(jobs.map((job) => job.began))
    expect(began.filter(Boolean)).toHaveLength(1)
  })

  it('shares one listener with twenty maps, and removes it when they end', async () => {
    const { signal } = new AbortController()
    const maps = Array.from({ length: 20 }, () => shared.pool.map('echo', [[1], [2]], { signal }))
    const first = await Promise.all(maps.map((map) => map.next()))
    expect(first.map(({ value }) => value)).toEqual(Array(20).fill(1))
    // One listener for the maps, one for their jobs.
    expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(2)
    for (const map of maps) for await (const value of map) expect(value).toBe(2)
    await until('no listener is left', () => getEventListeners(signal, 'abort').length === 0)
  })

  it('ends both maps that share the signal', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const next = [1, 2].map(() => shared.pool.map('never', [[]], { signal }).next())
    await until('a job runs', () => shared.pool.stats().running > 0)
    controller.abort('both')
    expect(await Promise.all(next.map((each) => failure(each)))).toEqual(['both', 'both'])
  })

  it('is cancelled by cancel() too, with an AbortError by default', async () => {
    const job = shared.pool.submit('untilAborted', [])
    await until('it runs', () => job.accepted)
    expect(job.cancel()).toBe(true)
    expect(await failure(job.result)).toMatchObject({ name: 'AbortError' })
    expect(job.cancel()).toBe(false)
  })
})
