import { TimeLimitError } from 'prefork'
import { expect, it } from 'vitest'
import { INTERRUPTION_SITES, LIMIT, LONG_GRACE, NO_STACK } from '../fixtures/interruption-site-list.js'
import { pidOf, sharedPool } from '../fixtures/pools.js'
import { failure, Journal, within } from '../fixtures/support.js'

/** The sites of `npm test`. */
export const OFTEN: readonly string[] = ['sync', 'regexp', 'afterAwait', 'execChild', 'idle']

const SITES = [...INTERRUPTION_SITES, ['idle', false, NO_STACK] as const]

/** Tests a hard limit at the interruption sites that are chosen. */
export const hardLimitSites = (chosen: (site: string) => boolean): void => {
  const shared = sharedPool(LONG_GRACE)

  it.each(SITES.filter(([site]) => chosen(site)))('ends the worker: %s', async (site, _, stack) => {
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
}
