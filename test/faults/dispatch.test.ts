import { describe, expect, it } from 'vitest'
import { allUp, pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { Journal, Latch, until, within } from '../fixtures/support.js'
import { nothingTakenBack } from './dispatch.js'

describe('priorities', () => {
  it('order waiting jobs: higher first, then by submission', async () => {
    const pool = await startPool({ watchdog: false })
    const journal = new Journal()
    const latch = new Latch()
    const holder = pool.run('hold', [latch.path])
    await until('it runs', () => pool.stats().running === 1)
    const jobs = [0, 5, -1, 5, 0, undefined, 10].map((priority, index) => pool.run('mark', [journal.path, index], { priority }))
    latch.open()
    await Promise.all([holder, ...jobs])
    expect(journal.lines.map(Number)).toEqual([6, 1, 3, 0, 4, 5, 2])
  })
})

describe('dispatch', () => {
  const behindAHolder = async (dispatch: 'fair' | 'fast' | 'adaptive' | number, watchdog = false) => {
    const pool = await startPool({ dispatch, watchdog })
    await pidOf(pool)
    const latch = new Latch()
    const journal = new Journal()
    const holder = pool.run('holdSync', [latch.path, journal.path, 'holder'])
    await journal.seen('+holder')
    const jobs = Array.from({ length: 12 }, (_, index) => pool.submit('echo', [index]))
    // Several ticks of the dispatcher, and the 5 ms after which adaptive recalls jobs.
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setTimeout(resolve, 10))
    const written = jobs.filter((job) => job.state === 'written').length
    const { writtenAhead } = pool.stats().workers[0]!
    latch.open()
    await holder
    expect(await Promise.all(jobs.map((job) => job.result))).toEqual(jobs.map((_, index) => index))
    expect(writtenAhead).toBe(written)
    return written
  }

  it('fair writes no job behind a running one', async () => {
    expect(await behindAHolder('fair')).toBe(0)
  })

  it('adaptive writes ahead behind jobs that are known to be short, fair does not', async () => {
    for (const [dispatch, ahead] of [
      ['fair', false],
      ['adaptive', true],
    ] as const) {
      const pool = await startPool({ dispatch })
      let most = 0
      pool.on('jobAccepted', () => {
        most = Math.max(most, pool.stats().workers[0]!.writtenAhead)
      })
      for (let round = 0; round < 5; round += 1) await Promise.all(Array.from({ length: 100 }, (_, index) => pool.run('echo', [index])))
      expect(most > 0).toBe(ahead)
    }
  })

  it('fast writes ahead', async () => {
    expect(await behindAHolder('fast')).toBeGreaterThan(4)
  })

  it('a number is the window of one worker', async () => {
    // Jobs written to one worker at once, including the one that it runs.
    expect([2, 3]).toContain(await behindAHolder(3))
    expect(await behindAHolder(1)).toBeLessThanOrEqual(1)
  })

  it('adaptive writes no job behind a long one, with and without a watchdog', async () => {
    expect(await behindAHolder('adaptive', true)).toBe(0)
    expect(await behindAHolder('adaptive')).toBe(0)
  })

  it('adaptive takes back jobs behind one that turns out to be long', async () => {
    const pool = await startPool({ workers: 2 })
    await allUp(pool, 2)
    // Measured as short, so that it is written ahead.
    for (let round = 0; round < 5; round += 1) await Promise.all(Array.from({ length: 100 }, () => pool.run('shortUnless', [])))
    const latch = new Latch()
    const journal = new Journal()
    const jobs = []
    let long: ReturnType<typeof pool.submit> | undefined
    for (let index = 0; index < 100; index += 1) {
      if (index === 30) long = pool.submit('shortUnless', [latch.path, journal.path])
      jobs.push(pool.submit('shortUnless', []))
    }
    await within(Promise.all(jobs.map((job) => job.result)), 5_000, 'a short job behind the long one')
    expect(long!.state).toBe('accepted')
    latch.open()
    await long!.result
  })

  // The others: dispatch.long.test.ts.
  nothingTakenBack(['adaptive'])
})

describe('broadcast', () => {
  const shared = sharedPool({ watchdog: false, workers: 2, concurrency: 2 })

  it('runs once on every worker and resolves with their results', async () => {
    const { pool } = shared
    const pids = await allUp(pool, 2)
    const answers = (await pool.broadcast('pid', [])) as number[]
    expect(answers.sort()).toEqual([...pids].sort())
  })

  it('waits for busy workers; the replacement of a worker that exits answers for it', async () => {
    const pool = await startPool({ watchdog: false, workers: 2 })
    const pids = await allUp(pool, 2)
    const journal = new Journal()
    const latch = new Latch()
    const holders = [1, 2].map((id) => pool.submit('hold', [latch.path, journal.path, id]))
    await until('both hold', () => journal.lines.length === 2)
    const answers = pool.broadcast('pid', [])
    process.kill(pids[0]!, 'SIGKILL')
    latch.open()
    const pidsThen = (await within(Promise.resolve(answers), 10_000, 'broadcast()')) as number[]
    expect(pidsThen).toHaveLength(2)
    expect(new Set(pidsThen).size).toBe(2)
    expect(pidsThen).toContain(pids[1])
    await Promise.allSettled(holders.map((job) => job.result))
  })

  it('resolves without the slots that are removed before their worker is up', async () => {
    const pool = await startPool({ watchdog: false, workers: 2 })
    const answers = pool.broadcast('pid', [])
    pool.resize(1)
    const answered = (await within(answers, 20_000, 'broadcast()')) as number[]
    expect(answered).toEqual([await pidOf(pool)])
  })

  it('runs nowhere when the queue has no room for all of its jobs', async () => {
    const pool = await startPool({ watchdog: false, workers: 2, maxQueue: 1 })
    await allUp(pool, 2)
    const journal = new Journal()
    await expect(pool.broadcast('mark', [journal.path, 'ran'])).rejects.toMatchObject({ name: 'QueueFullError', message: expect.stringContaining('can never') })
    expect(await pool.run('echo', [1])).toBe(1)
    expect(journal.lines).toEqual([])
  })

  it.each([
    ['id', 'one'],
    ['transfer', []],
    ['delivery', {}],
  ])('refuses what only one job may have: %s', async (name, value) => {
    const { pool } = shared
    await expect(pool.broadcast('pid', [], { [name]: value } as never)).rejects.toThrow(`Unknown option '${name}' of pool.broadcast('pid', …)`)
  })

  it('rejects on a closed pool and for an unknown task', async () => {
    const pool = await startPool({ watchdog: false })
    await expect(pool.broadcast('noSuchTask', [])).rejects.toMatchObject({ name: 'TaskNotFoundError' })
    await pool.close()
    await expect(pool.broadcast('pid', [])).rejects.toMatchObject({ name: 'PoolClosedError' })
  })
})
