import { SoftTimeLimitError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { BRISK, ELSEWHERE, LIMIT, PATIENT, SAFE } from '../fixtures/places-list.js'
import { pidOf, sharedPool, type TestPool } from '../fixtures/pools.js'
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

/** A soft limit against a task in each of its places. */
export const softLimitPlaces = (concurrency: number): void => {
  describe(`promise 5: a soft limit ends a task that never yields, with concurrency ${concurrency}`, () => {
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
}
