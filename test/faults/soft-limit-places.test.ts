import { SoftTimeLimitError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { BRISK, ELSEWHERE, LIMIT, PATIENT, SAFE } from '../fixtures/places-list.js'
import { pidOf, sharedPool, startPool, type TestPool } from '../fixtures/pools.js'
import { failure, Gate, Journal, within } from '../fixtures/support.js'

/** Runs the task in its place under a soft limit; what it stands between must come through. */
const limited = async (pool: TestPool, concurrency: number, place: string, stack: string) => {
  const before = await pidOf(pool)
  const journal = new Journal()
  const gate = new Gate()
  const neighbours = concurrency > 1 ? [1, 2].map(() => pool.submit('patient', [gate.path])) : []
  const job = pool.submit(place, [journal.path], { softTimeLimit: LIMIT })
  const behind = concurrency === 1 ? pool.submit('pid', []) : undefined
  const error = await failure(job.result)
  expect(error).toBeInstanceOf(SoftTimeLimitError)
  expect(error).toMatchObject({ code: 'ERR_PREFORK_SOFT_TIME_LIMIT', limit: LIMIT })
  expect((error as SoftTimeLimitError).taskStack).toContain(stack)
  expect(job).toMatchObject({ state: 'failed', accepted: true, softTimedOut: true })
  expect(journal.lines).toEqual(['there'])
  // What stood behind it had not begun, and runs wherever a worker is.
  const behindPid = await (behind && within(behind.result, 10_000))
  const after = await within(pidOf(pool), 10_000)
  gate.open()
  return { before, after, behindPid, neighbours }
}

describe.each([1, 4])('promise 5: a soft limit ends a task that never yields, with concurrency %i', (concurrency) => {
  const patient = sharedPool({ ...PATIENT, concurrency })
  it.each(SAFE)('%s: where that is safe, and the worker lives on', async (place, _, stack) => {
    const { before, after, behindPid, neighbours } = await limited(patient.pool, concurrency, place, stack)
    expect(after).toBe(before)
    if (concurrency === 1) expect(behindPid).toBe(before)
    for (const neighbour of neighbours) expect(await within(neighbour.result, 5_000)).toBe('patient')
  })

  const brisk = sharedPool({ ...BRISK, concurrency })
  it.each(ELSEWHERE)('%s: elsewhere with the worker, which is replaced', async (place, _, stack) => {
    const { before, after, behindPid, neighbours } = await limited(brisk.pool, concurrency, place, stack)
    expect(after).not.toBe(before)
    if (concurrency === 1) expect(behindPid).not.toBe(before)
    for (const neighbour of neighbours) {
      await within(neighbour.result, 10_000).catch((lost: unknown) => expect(lost).toMatchObject({ name: 'WorkerLostError', accepted: true }))
    }
  })
})

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
