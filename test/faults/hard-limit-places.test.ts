import { TimeLimitError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { INTERRUPTION_SITES, LIMIT, LONG_GRACE, NO_STACK } from '../fixtures/interruption-site-list.js'
import { pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { failure, Journal, Latch, within } from '../fixtures/support.js'

describe('promise 5: a hard limit', () => {
  const shared = sharedPool(LONG_GRACE)

  it.each([...INTERRUPTION_SITES, ['idle', false, NO_STACK] as const])('ends the worker: %s', async (site, _, stack) => {
    const before = await pidOf(shared.pool)
    const journal = new Journal()
    const job = shared.pool.submit(site, [journal.path], { timeLimit: LIMIT })
    const behind = shared.pool.submit('pid', [])
    const error = await failure(job.result)
    expect(error).toBeInstanceOf(TimeLimitError)
    expect(error).toMatchObject({ code: 'ERR_PREFORK_TIME_LIMIT', limit: LIMIT })
    expect((error as TimeLimitError).taskStack).toContain(stack)
    expect(job).toMatchObject({ state: 'failed', accepted: true, softTimedOut: false })
    expect(await within(behind.result, 10_000)).not.toBe(before)
    expect(journal.lines).toEqual(['there'])
  })

  it('ends the jobs beside it with the worker: each settles as lost', async () => {
    const pool = await startPool({ ...LONG_GRACE, concurrency: 4 })
    const latch = new Latch()
    const journal = new Journal()
    const neighbours = [1, 2, 3].map(() => pool.submit('waitForLatch', [latch.path]))
    expect(await failure(pool.run('inTimer', [journal.path], { timeLimit: LIMIT }))).toBeInstanceOf(TimeLimitError)
    for (const neighbour of neighbours) expect(await failure(neighbour.result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
  })
})
