import { SoftTimeLimitError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { BRISK, LIMIT, PATIENT } from '../fixtures/places-list.js'
import { pidOf, startPool } from '../fixtures/pools.js'
import { failure, Journal } from '../fixtures/support.js'
import { softLimitPlaces } from './soft-limit-places.js'

// With concurrency 4: soft-limit-places.long.test.ts.
softLimitPlaces(1)

describe("promise 5: a limit that passes in another job's code", () => {
  it('soft: the job that waits rejects, the one that loops is not interrupted in its stead', async () => {
    const pool = await startPool({ ...BRISK, concurrency: 4 })
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

  it('soft, both limited: each is answered with its own limit', async () => {
    const pool = await startPool({ ...BRISK, concurrency: 4, cancelGrace: 800 })
    const journal = new Journal()
    const waiting = pool.submit('awaiting', [journal.path], { softTimeLimit: 400 })
    await journal.seen('waiting')
    const looping = pool.submit('sync', [journal.path], { softTimeLimit: 150 })
    expect(await failure(looping.result)).toMatchObject({ name: 'SoftTimeLimitError', limit: 150 })
    expect(await failure(waiting.result)).toMatchObject({ name: 'SoftTimeLimitError', limit: 400 })
  })

  it('hard: ends the worker, and only the limited job is called timed out', async () => {
    const pool = await startPool({ ...BRISK, concurrency: 4 })
    const journal = new Journal()
    const waiting = pool.submit('awaiting', [journal.path], { timeLimit: 300 })
    await journal.seen('waiting')
    const looping = pool.submit('sync', [journal.path])
    expect(await failure(waiting.result)).toMatchObject({ name: 'TimeLimitError', limit: 300 })
    expect(await failure(looping.result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
  })
})

it('promise 5: an interrupted task leaves nothing of its AsyncLocalStorage to the next job', async () => {
  const pool = await startPool(PATIENT)
  const journal = new Journal()
  expect(await failure(pool.run('inStorage', [journal.path], { softTimeLimit: LIMIT }))).toMatchObject({ name: 'SoftTimeLimitError' })
  expect(await pool.run('store', [])).toBeNull()
})
