import type { RunOptions } from 'prefork'
import { expect, it } from 'vitest'
import { pidOf, startPool } from '../fixtures/pools.js'
import { failure, isAlive, Journal, until, within } from '../fixtures/support.js'

export const ASK = { cancel: 'ask' } as const

/** Tests synchronous code that returns in time, with and without a watchdog. */
export const uninterrupted = (watchdogs: readonly boolean[]): void => {
  it.each(watchdogs)('is not interrupted: synchronous code that returns in time answers (watchdog: %s)', async (watchdog) => {
    const pool = await startPool({ watchdog, cancelGrace: 20_000 })
    const job = pool.submit('spinFor', [600], ASK)
    await until('it runs', () => job.accepted)
    job.cancel()
    expect(await within(job.result, 15_000)).toBe(600)
  })
}

/** Tests other endings of a job that is being cancelled. */
export const endings = (chosen: readonly (readonly [what: string, limits: RunOptions, kill: (pid: number) => void])[]): void => {
  it.each(chosen)('rejects with the reason when its worker %s meanwhile, and is not run again', async (_, limits, kill) => {
    const pool = await startPool({ cancelGrace: 400 })
    const journal = new Journal()
    const pid = await pidOf(pool)
    const job = pool.submit('ignoreAbort', [journal.path], { ...ASK, ...limits, retryLost: 3 })
    await journal.seen('begun')
    job.cancel('enough', { grace: 60_000 })
    kill(pid)
    expect(await within(failure(job.result), 20_000)).toBe('enough')
    expect(isAlive(pid)).toBe(false)
    expect(job).toMatchObject({ state: 'cancelled', attempt: 1 })
    await pidOf(pool)
    expect(journal.lines).toEqual(['begun'])
  })
}
