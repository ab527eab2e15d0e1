import { SoftTimeLimitError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { LIMIT, LONG_GRACE, SAFE_SITES, SHORT_GRACE, UNSAFE_SITES } from '../fixtures/interruption-site-list.js'
import { pidOf, sharedPool, type TestPool } from '../fixtures/pools.js'
import { failure, Journal, Latch, within } from '../fixtures/support.js'

/** Runs the task under a soft limit, beside and before other jobs, which must complete. */
const limited = async (pool: TestPool, concurrency: number, site: string, stack: string) => {
  const before = await pidOf(pool)
  const journal = new Journal()
  const latch = new Latch()
  const neighbours = concurrency > 1 ? [1, 2].map(() => pool.submit('waitForLatch', [latch.path])) : []
  const job = pool.submit(site, [journal.path], { softTimeLimit: LIMIT })
  const behind = concurrency === 1 ? pool.submit('pid', []) : undefined
  const error = await failure(job.result)
  expect(error).toBeInstanceOf(SoftTimeLimitError)
  expect(error).toMatchObject({ code: 'ERR_PREFORK_SOFT_TIME_LIMIT', limit: LIMIT })
  expect((error as SoftTimeLimitError).taskStack).toContain(stack)
  expect(job).toMatchObject({ state: 'failed', accepted: true, softTimedOut: true })
  expect(journal.lines).toEqual(['there'])
  // The job behind it had not begun, and runs in whichever worker is up.
  const behindPid = await (behind && within(behind.result, 10_000))
  const after = await within(pidOf(pool), 10_000)
  latch.open()
  return { before, after, behindPid, neighbours }
}

/** Tests a soft limit at each interruption site, or at these alone. */
export const softLimitSites = (concurrency: number, names?: readonly string[]): void => {
  const chosen = ([name]: (typeof SAFE_SITES)[number]): boolean => names === undefined || names.includes(name)
  describe(`promise 5: a soft limit ends a task that never yields, with concurrency ${concurrency}`, () => {
    const longGrace = sharedPool({ ...LONG_GRACE, concurrency })
    it.each(SAFE_SITES.filter(chosen))('%s: interrupts it where that is safe, and the worker stays alive', async (site, _, stack) => {
      const { before, after, behindPid, neighbours } = await limited(longGrace.pool, concurrency, site, stack)
      expect(after).toBe(before)
      if (concurrency === 1) expect(behindPid).toBe(before)
      for (const neighbour of neighbours) expect(await within(neighbour.result, 5_000)).toBe('opened')
    })

    const shortGrace = sharedPool({ ...SHORT_GRACE, concurrency })
    it.each(UNSAFE_SITES.filter(chosen))('%s: replaces the worker where an interruption is not safe', async (site, _, stack) => {
      const { before, after, behindPid, neighbours } = await limited(shortGrace.pool, concurrency, site, stack)
      expect(after).not.toBe(before)
      if (concurrency === 1) expect(behindPid).not.toBe(before)
      for (const neighbour of neighbours) {
        await within(neighbour.result, 10_000).catch((lost: unknown) => expect(lost).toMatchObject({ name: 'WorkerLostError', accepted: true }))
      }
    })
  })
}
