import { describe, expect, it } from 'vitest'
import { pidOf, startPool } from '../fixtures/pools.js'
import { failure, gone, Journal, Latch, until, within } from '../fixtures/support.js'
import { cancelledLoops } from './cancel.js'

describe('promise 4: a cancelled job', () => {
  it('rejects in the same tick and never runs when it was queued; the others run', async () => {
    const pool = await startPool({ dispatch: 'fair' })
    const journal = new Journal()
    const latch = new Latch()
    pool.run('hold', [latch.path, journal.path, 'holder'])
    await journal.seen('+holder')
    const [first, victim, last] = ['first', 'victim', 'last'].map((id) => pool.submit('mark', [journal.path, id]))
    expect(victim!.state).toBe('queued')
    const reason = new Error('not wanted any more')
    let rejected: unknown
    victim!.result.catch((error: unknown) => {
      rejected = error
    })
    expect(victim!.cancel(reason)).toBe(true)
    expect(victim!.state).toBe('cancelled')
    await new Promise((resolve) => setImmediate(resolve))
    expect(rejected).toBe(reason)
    expect(await within(victim!.began, 20_000, 'began')).toBe(false)
    expect(victim!.cancel()).toBe(false)
    latch.open()
    expect(await first!.result).toBe('first')
    expect(await last!.result).toBe('last')
    expect(journal.lines).toEqual(['+holder', '-holder', 'first', 'last'])
    expect(pool.stats()).toMatchObject({ queued: 0, running: 0, totals: { cancelled: 1, succeeded: 3 } })
  })

  it('rejects at once when it was written ahead behind a busy loop; began resolves to false before the loop ends', async () => {
    const pool = await startPool({ dispatch: 'fast' })
    const journal = new Journal()
    const latch = new Latch()
    const pid = await pidOf(pool)
    const holder = pool.submit('holdSync', [latch.path, journal.path, 'holder'])
    await journal.seen('+holder')
    const [first, victim, last] = [1, 2, 3].map((id) => pool.submit('mark', [journal.path, id]))
    await until('they are written', () => [first, victim, last].every((job) => job!.state === 'written'))
    expect(victim!.cancel('changed my mind')).toBe(true)
    expect(await failure(victim!.result)).toBe('changed my mind')
    expect(await within(victim!.began, 20_000, 'began')).toBe(false)
    await until('the host knows that the holder runs', () => holder.state === 'accepted')
    latch.open()
    expect(await Promise.all([holder.result, first!.result, last!.result])).toEqual(['holder', 1, 3])
    expect(journal.lines).toEqual(['+holder', '-holder', '1', '3'])
    expect(victim).toMatchObject({ state: 'cancelled', accepted: false })
    expect(await pidOf(pool)).toBe(pid)
  })

  it('is taken back with all others that were written ahead, while new ones arrive', async () => {
    const pool = await startPool({ dispatch: 'fast' })
    const journal = new Journal()
    const latch = new Latch()
    pool.run('holdSync', [latch.path, journal.path, 'holder'])
    await journal.seen('+holder')
    const victims = Array.from({ length: 30 }, (_, index) => pool.submit('mark', [journal.path, `victim ${index}`]))
    await until('one is written', () => victims[0]!.state === 'written')
    const late = []
    for (const victim of victims) {
      victim.cancel()
      late.push(pool.submit('mark', [journal.path, `late ${late.length}`]))
    }
    expect(await within(Promise.all(victims.map((job) => job.began)), 10_000)).toEqual(victims.map(() => false))
    latch.open()
    await within(Promise.all(late.map((job) => job.result)), 15_000)
    expect(journal.lines.slice(2)).toEqual(late.map((_, index) => `late ${index}`))
  })

  it('reports exactly whether it ran, whether it was being written, accepted or done', async () => {
    const pool = await startPool({ workers: 2, concurrency: 2, dispatch: 'fast' })
    const journal = new Journal()
    const jobs = []
    for (let index = 0; index < 600; index += 1) {
      const job = pool.submit('append', [journal.path, `${index}\n`])
      jobs.push(job)
      if (index % 3 === 0) job.cancel()
      else if (index % 3 === 1) setImmediate(() => job.cancel())
      if (index % 40 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await within(Promise.allSettled(jobs.map((job) => job.result)), 15_000)
    const began = await within(Promise.all(jobs.map((job) => job.began)), 15_000, 'began of some job')
    await pool.close()
    const ran = new Set(journal.lines.map(Number))
    expect(journal.lines).toHaveLength(ran.size)
    expect(jobs.map((job, index) => [job.state === 'succeeded' || began[index], index])).toEqual(jobs.map((_, index) => [ran.has(index), index]))
  })

  it('gets the reason through its signal while running; the worker stays alive', async () => {
    const pool = await startPool()
    const journal = new Journal()
    const pid = await pidOf(pool)
    const job = pool.submit('untilAborted', [journal.path])
    await journal.seen('begun')
    const reason = Object.assign(new RangeError('enough'), { code: 'E_ENOUGH' })
    expect(job.cancel(reason)).toBe(true)
    expect(await within(failure(job.result), 10_000)).toBe(reason)
    expect(await job.began).toBe(true)
    await journal.seen('aborted RangeError E_ENOUGH enough')
    expect(await pidOf(pool)).toBe(pid)
    expect(job).toMatchObject({ state: 'cancelled', accepted: true })
  })

  it('loses its worker after cancelGrace when it ignores the signal', async () => {
    const pool = await startPool({ cancelGrace: 100 })
    const journal = new Journal()
    const pid = await pidOf(pool)
    const job = pool.submit('ignoreAbort', [journal.path])
    await journal.seen('begun')
    job.cancel()
    expect(await within(failure(job.result), 10_000)).toMatchObject({ name: 'AbortError' })
    await gone([pid], 10_000)
    expect(await pidOf(pool)).not.toBe(pid)
  })

  it('keeps its worker when it ends within cancelGrace', async () => {
    const pool = await startPool({ cancelGrace: 15_000 })
    const journal = new Journal()
    const pid = await pidOf(pool)
    const job = pool.submit('ignoreAbortFor', [journal.path, 2_500])
    await journal.seen('begun')
    job.cancel()
    await failure(job.result)
    expect(await pidOf(pool)).toBe(pid)
  })

  // The others: cancel.long.test.ts.
  cancelledLoops([
    ['sync', true],
    ['regexp', true],
    ['afterAwait', false],
  ])

  it('does not affect jobs that run beside it', async () => {
    const pool = await startPool({ concurrency: 4, cancelGrace: 5_000 })
    const journal = new Journal()
    const latch = new Latch()
    const neighbours = [1, 2].map((id) => pool.submit('hold', [latch.path, journal.path, id]))
    const polite = pool.submit('untilAborted', [journal.path, 'x'])
    await journal.seen('begun')
    await journal.seen('+2')
    polite.cancel()
    await failure(polite.result)
    await until('its signal has aborted', () => journal.lines.some((line) => line.startsWith('aborted AbortError')))
    const looping = pool.submit('spinFor', [1_000_000])
    await until('it runs', () => looping.accepted)
    looping.cancel()
    await failure(looping.result)
    latch.open()
    expect(await Promise.all(neighbours.map((job) => job.result))).toEqual([1, 2])
    expect(pool.stats().totals.workersDied).toBe(0)
  })
})
