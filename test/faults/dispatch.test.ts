import { describe, expect, it } from 'vitest'
import { allUp, pidOf, startPool } from '../fixtures/pools.js'
import { Journal, Latch, until, within } from '../fixtures/support.js'

describe('priorities', () => {
  it('order waiting jobs: higher first, then by submission', async () => {
    const pool = await startPool()
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
  const behindAHolder = async (dispatch: 'fair' | 'fast' | 'adaptive' | number, watchdog = true) => {
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
      for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 100 }, (_, index) => pool.run('echo', [index])))
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
    expect(await behindAHolder('adaptive')).toBe(0)
    expect(await behindAHolder('adaptive', false)).toBe(0)
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

  it('adaptive takes them back when the long job never yields too', async () => {
    const pool = await startPool({ workers: 2 })
    await allUp(pool, 2)
    for (let round = 0; round < 5; round += 1) await Promise.all(Array.from({ length: 100 }, () => pool.run('mark', [undefined, 1])))
    for (let round = 0; round < 20; round += 1) await pool.run('markAndSpin', [undefined, 1, 0])
    const jobs = []
    let long: ReturnType<typeof pool.submit> | undefined
    for (let index = 0; index < 100; index += 1) {
      if (index === 30) long = pool.submit('markAndSpin', [undefined, 'long', 8_000])
      jobs.push(pool.submit('mark', [undefined, index]))
    }
    await within(Promise.all(jobs.map((job) => job.result)), 6_000, 'a short job behind the long one')
    expect(long!.state).toBe('accepted')
    long!.cancel()
  })

  it.each(['adaptive', 'fair'] as const)('%s takes nothing back from a worker that is still reading it, however large', async (dispatch) => {
    const pool = await startPool({ workers: 2, concurrency: 2, dispatch })
    const sizes = [48_000_000, 16_000_000, 1_000_000, 128_000, 48_000_000]
    const values = await Promise.all(sizes.map((size) => pool.run('sizeOf', [Buffer.alloc(size)])))
    expect(values).toEqual(sizes)
    // A running neighbour may cost one put-back; a livelock costs hundreds.
    expect(pool.stats().totals.putBack).toBeLessThan(20)
  })

  it('spreads jobs over the workers', async () => {
    const pool = await startPool({ workers: 3 })
    await allUp(pool, 3)
    const journal = new Journal()
    const latch = new Latch()
    const jobs = [1, 2, 3].map((id) => pool.run('hold', [latch.path, journal.path, id]))
    await until('all three run at once', () => journal.lines.length === 3)
    latch.open()
    await Promise.all(jobs)
  })
})

describe('broadcast', () => {
  it('runs once on every worker and resolves with their results', async () => {
    const pool = await startPool({ workers: 3, concurrency: 2 })
    const pids = await allUp(pool, 3)
    const answers = (await pool.broadcast('pid', [])) as number[]
    expect(answers.sort()).toEqual([...pids].sort())
  })

  it('waits for busy workers; the replacement of a worker that exits answers for it', async () => {
    const pool = await startPool({ workers: 2 })
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

  it('runs once for each slot during a rolling restart: a successor answers for the worker that it replaces', async () => {
    const pool = await startPool({ workers: 2 })
    await allUp(pool, 2)
    const journal = new Journal()
    const latch = new Latch()
    const held = [1, 2].map((id) => pool.submit('hold', [latch.path, journal.path, id]))
    await until('both hold', () => journal.lines.length === 2)
    const restarted = pool.restart()
    await until('the first successor is there', () => pool.stats().workers.length === 3)
    const answers = pool.broadcast('pid', [])
    latch.open()
    const pids = (await within(answers, 10_000, 'broadcast()')) as number[]
    expect(pids).toHaveLength(2)
    expect(new Set(pids).size).toBe(2)
    await Promise.all([restarted, ...held.map((job) => job.result)])
  })

  it('asks no worker twice when several die at once: each replacement answers for one', async () => {
    const pool = await startPool({ workers: 4 })
    const pids = await allUp(pool, 4)
    const journal = new Journal()
    const latch = new Latch()
    const held = pids.map((id) => pool.submit('hold', [latch.path, journal.path, id]))
    await until('all hold', () => journal.lines.length === 4)
    const answers = pool.broadcast('pid', [])
    for (const pid of pids.slice(1)) process.kill(pid, 'SIGKILL')
    latch.open()
    const answered = (await within(answers, 20_000, 'broadcast()')) as number[]
    expect(answered).toHaveLength(4)
    expect(new Set(answered).size).toBe(4)
    expect(answered.filter((pid) => pids.includes(pid))).toEqual([pids[0]])
    await Promise.allSettled(held.map((job) => job.result))
  })

  it('with retryLost runs again in a worker that has not run it', async () => {
    const pool = await startPool({ workers: 3 })
    const pids = await allUp(pool, 3)
    const journal = new Journal()
    const latch = new Latch()
    const answers = pool.broadcast('shortUnless', [latch.path, journal.path], { retryLost: 1 })
    await until('all run', () => journal.lines.length === 3)
    for (const pid of pids.slice(1)) process.kill(pid, 'SIGKILL')
    await until('two run again', () => journal.lines.length === 5)
    latch.open()
    const answered = (await within(answers, 20_000, 'broadcast()')) as number[]
    expect(new Set(answered).size).toBe(3)
    expect(answered.filter((pid) => pids.includes(pid))).toEqual([pids[0]])
  })

  it('resolves without the slots that are removed before their worker is up', async () => {
    const pool = await startPool({ workers: 4 })
    const answers = pool.broadcast('pid', [])
    pool.resize(1)
    const answered = (await within(answers, 20_000, 'broadcast()')) as number[]
    expect(answered).toEqual([await pidOf(pool)])
  })

  it('asks no worker twice while workers are resized, ended and restarted', async () => {
    const pool = await startPool({ workers: 3 })
    const rounds: Promise<unknown>[] = []
    const answered: unknown[][] = []
    for (let round = 0; round < 6; round += 1) {
      rounds.push(pool.broadcast('pid', []).then((pids) => answered.push(pids)))
      const worker = pool.stats().workers.find(({ pid }) => pid !== undefined)
      if (worker !== undefined) pool.end(worker.id, 'a test')
      if (round === 2) rounds.push(pool.restart())
      pool.resize(1 + (round % 4))
      rounds.push(pool.broadcast('pid', []).then((pids) => answered.push(pids)))
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    await within(Promise.allSettled(rounds), 30_000, 'the broadcasts')
    expect(answered.length).toBeGreaterThan(0)
    for (const pids of answered) expect(new Set(pids).size).toBe(pids.length)
  })

  it('runs nowhere when the queue has no room for all of its jobs', async () => {
    const pool = await startPool({ workers: 2, maxQueue: 1 })
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
    const pool = await startPool()
    await expect(pool.broadcast('pid', [], { [name]: value } as never)).rejects.toThrow(`Unknown option '${name}' of pool.broadcast('pid', …)`)
  })

  it('rejects on a closed pool and for an unknown task', async () => {
    const pool = await startPool()
    await expect(pool.broadcast('noSuchTask', [])).rejects.toMatchObject({ name: 'TaskNotFoundError' })
    await pool.close()
    await expect(pool.broadcast('pid', [])).rejects.toMatchObject({ name: 'PoolClosedError' })
  })
})
