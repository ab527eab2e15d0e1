import { SoftTimeLimitError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { LIMIT, LONG_GRACE, SHORT_GRACE } from '../fixtures/interruption-site-list.js'
import { pidOf, startPool } from '../fixtures/pools.js'
import { failure, Journal } from '../fixtures/support.js'
import { softLimitSites } from './soft-limit-places.js'

// The others, and with concurrency 4: soft-limit-places.long.test.ts.
softLimitSites(1, ['sync', 'afterAwait', 'execChild'])

describe("promise 5: a limit that passes while another job's code runs", () => {
  it('soft: rejects the waiting job and does not interrupt the looping one', async () => {
    const pool = await startPool({ ...SHORT_GRACE, concurrency: 4 })
    const journal = new Journal()
    const before = await pidOf(pool)
    const waiting = pool.submit('awaiting', [journal.path], { softTimeLimit: 300 })
    await journal.seen('waiting')
    const looping = pool.submit('sync', [journal.path])
    const error = await failure(waiting.result)
    expect(error).toBeInstanceOf(SoftTimeLimitError)
    expect(await failure(looping.result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
    expect(await pidOf(pool)).not.toBe(before)
  })

  it('soft, for both jobs: each rejects with its own limit', async () => {
    const pool = await startPool({ ...SHORT_GRACE, concurrency: 4, cancelGrace: 800 })
    const journal = new Journal()
    const waiting = pool.submit('awaiting', [journal.path], { softTimeLimit: 400 })
    await journal.seen('waiting')
    const looping = pool.submit('sync', [journal.path], { softTimeLimit: 150 })
    expect(await failure(looping.result)).toMatchObject({ name: 'SoftTimeLimitError', limit: 150 })
    expect(await failure(waiting.result)).toMatchObject({ name: 'SoftTimeLimitError', limit: 400 })
  })

  it('hard: ends the worker, and only the limited job rejects as timed out', async () => {
    const pool = await startPool({ ...SHORT_GRACE, concurrency: 4 })
    const journal = new Journal()
    const waiting = pool.submit('awaiting', [journal.path], { timeLimit: 300 })
    await journal.seen('waiting')
    const looping = pool.submit('sync', [journal.path])
    expect(await failure(waiting.result)).toMatchObject({ name: 'TimeLimitError', limit: 300 })
    expect(await failure(looping.result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
  })
})

it('promise 5: an interrupted task leaves no AsyncLocalStorage store for the next job', async () => {
  const pool = await startPool(LONG_GRACE)
  const journal = new Journal()
  expect(await failure(pool.run('inStorage', [journal.path], { softTimeLimit: LIMIT }))).toMatchObject({ name: 'SoftTimeLimitError' })
  expect(await pool.run('store', [])).toBeNull()
})
