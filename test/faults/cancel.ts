import { expect, it } from 'vitest'
import { fixture, pidOf, startPool } from '../fixtures/pools.js'
import { failure, Journal, within } from '../fixtures/support.js'

/** Tests a cancellation at each site, and whether its worker lives on. */
export const cancelledLoops = (sites: readonly (readonly [site: string, livesOn: boolean])[]): void => {
  it.each(sites)('while in a loop (%s): rejects at once, same worker afterwards: %s', async (place, livesOn) => {
    const pool = await startPool({ tasks: fixture('interruption-sites.js'), cancelGrace: livesOn ? 5_000 : 150 })
    const journal = new Journal()
    const pid = await pidOf(pool)
    const job = pool.submit(place, [journal.path])
    await journal.seen('there')
    job.cancel('stop')
    expect(await within(failure(job.result), 10_000)).toBe('stop')
    expect(await job.began).toBe(true)
    expect(job.state).toBe('cancelled')
    expect((await within(pidOf(pool), 10_000)) === pid).toBe(livesOn)
  })
}
