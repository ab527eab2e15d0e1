import { TimeLimitError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { LIMIT, LONG_GRACE } from '../fixtures/interruption-site-list.js'
import { startPool } from '../fixtures/pools.js'
import { failure, Journal, Latch } from '../fixtures/support.js'
import { hardLimitSites, OFTEN } from './hard-limit-places.js'

describe('promise 5: a hard limit', () => {
  // The others: hard-limit-places.long.test.ts.
  hardLimitSites((site) => OFTEN.includes(site))

  it('ends the jobs beside it with the worker: each settles as lost', async () => {
    const pool = await startPool({ ...LONG_GRACE, concurrency: 4 })
    const latch = new Latch()
    const journal = new Journal()
    const neighbours = [1, 2, 3].map(() => pool.submit('waitForLatch', [latch.path]))
    expect(await failure(pool.run('inTimer', [journal.path], { timeLimit: LIMIT }))).toBeInstanceOf(TimeLimitError)
    for (const neighbour of neighbours) expect(await failure(neighbour.result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
  })
})
