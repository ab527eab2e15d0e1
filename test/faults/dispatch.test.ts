import { describe, expect, it } from 'vitest'
import { allUp, pidOf, startPool } from '../fixtures/pools.js'
import { Gate, Journal, until, within } from '../fixtures/support.js'

describe('priorities', () => {
  it('order what waits: higher first, then as submitted', async () => {
    const pool = await startPool()
    const journal = new Journal()
    const gate = new Gate()
    const holder = pool.run('hold', [gate.path])
    await until('it runs', () => pool.stats().running === 1)
    const jobs = [0, 5, -1, 5, 0, undefined, 10].map((priority, index) => pool.run('mark', [journal.path, index], { priority }))
    gate.open()
    await Promise.all([holder, ...jobs])
    expect(journal.lines.map(Number)).toEqual([6, 1, 3, 0, 4, 5, 2])
  })
})

describe('dispatch', () => {
  const behindAHolder = async (dispatch: 'fair' | 'fast' | 'adaptive' | number, watchdog = true) => {
    const pool = await startPool({ dispatch, watchdog })
    await pidOf(pool)
    const gate = new Gate()
    const journal = new Journal()
    const holder = pool.run('holdSync', [gate.path, journal.path, 'holder'])
    await journal.seen('+holder')
    const jobs = Array.from({ length: 12 }, (_, index) => pool.submit('echo', [index]))
    // Long enough for the dispatcher: several ticks, and the 5 ms after which adaptive takes jobs back.
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setTimeout(resolve, 10))
    const written = jobs.filter((job) => job.state === 'written').length
    const { writtenAhead } = pool.stats().workers[0]!
    gate.open()
    await holder
    expect(await Promise.all(jobs.map((job) => job.result))).toEqual(jobs.map((_, index) => index))
    expect(writtenAhead).toBe(written)
    return written
  }

  it('fair writes nothing behind a job that runs', async () => {
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
    // Jobs written to one worker at once: with or without the one that it runs.
    expect([2, 3]).toContain(await behindAHolder(3))
    expect(await behindAHolder(1)).toBeLessThanOrEqual(1)
  })

  it('adaptive leaves nothing behind a long job, nor does it without a watchdog', async () => {
    expect(await behindAHolder('adaptive')).toBe(0)
    expect(await behindAHolder('adaptive', false)).toBe(0)
  })

  it('adaptive takes back what stands behind a job that turns out long', async () => {
    const pool = await startPool({ workers: 2 })
    await allUp(pool, 2)
    // Measured to be short, so that it is written ahead.
    for (let round = 0; round < 5; round += 1) await Promise.all(Array.from({ length: 100 }, () => pool.run('shortUnless', [])))
    const gate = new Gate()
    const journal = new Journal()
    const jobs = []
    let long: ReturnType<typeof pool.submit> | undefined
    for (let index = 0; index < 100; index += 1) {
      if (index === 30) long = pool.submit('shortUnless', [gate.path, journal.path])
      jobs.push(pool.submit('shortUnless', []))
    }
    await within(Promise.all(jobs.map((job) => job.result)), 5_000, 'a short job behind the long one')
    expect(long!.state).toBe('accepted')
    gate.open()
    await long!.result
  })

  it('adaptive does so also when the long job never yields', async () => {
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
    // A neighbour that runs may cost one put-back; a livelock costs hundreds.
    expect(pool.stats().totals.putBack).toBeLessThan(20)
  })

  it('spreads jobs over the workers', async () => {
    const pool = await startPool({ workers: 3 })
    await allUp(pool, 3)
    const journal = new Journal()
    const gate = new Gate()
    const jobs = [1, 2, 3].map((id) => pool.run('hold', [gate.path, journal.path, id]))
    await until('all three run at once', () => journal.lines.length === 3)
    gate.open()
    await Promise.all(jobs)
  })
})

describe('broadcast', () => {
  it('runs once on every worker and gives their answers', async () => {
    const pool = await startPool({ workers: 3, concurrency: 2 })
    const pids = await allUp(pool, 3)
    const answers = (await pool.broadcast('pid', [])) as number[]
    expect(answers.sort()).toEqual([...pids].sort())
  })

  it('waits for the busy ones, and is answered by the replacement of one that leaves', async () => {
    const pool = await startPool({ workers: 2 })
    const pids = await allUp(pool, 2)
    const journal = new Journal()
    const gate = new Gate()
    const holders = [1, 2].map((id) => pool.submit('hold', [gate.path, journal.path, id]))
    await until('both hold', () => journal.lines.length === 2)
    const answers = pool.broadcast('pid', [])
    process.kill(pids[0]!, 'SIGKILL')
    gate.open()
    const pidsThen = (await within(Promise.resolve(answers), 10_000, 'broadcast()')) as number[]
    expect(pidsThen).toHaveLength(2)
    expect(new Set(pidsThen).size).toBe(2)
    expect(pidsThen).toContain(pids[1])
    await Promise.allSettled(holders.map((job) => job.result))
  })

  it('runs once for each place while a restart is rolling: the successor answers for the one it replaces', async () => {
    const pool = await startPool({ workers: 2 })
    await allUp(pool, 2)
    const journal = new Journal()
    const gate = new Gate()
    const held = [1, 2].map((id) => pool.submit('hold', [gate.path, journal.path, id]))
    await until('both hold', () => journal.lines.length === 2)
    const restarted = pool.restart()
    await until('the first successor is there', () => pool.stats().workers.length === 3)
    const answers = pool.broadcast('pid', [])
    gate.open()
    const pids = (await within(answers, 10_000, 'broadcast()')) as number[]
    expect(pids).toHaveLength(2)
    expect(new Set(pids).size).toBe(2)
    await Promise.all([restarted, ...held.map((job) => job.result)])
  })

  it('asks nobody twice when several die at once: each replacement answers for one', async () => {
    const pool = await startPool({ workers: 4 })
    const pids = await allUp(pool, 4)
    const journal = new Journal()
    const gate = new Gate()
    const held = pids.map((id) => pool.submit('hold', [gate.path, journal.path, id]))
    await until('all hold', () => journal.lines.length === 4)
    const answers = pool.broadcast('pid', [])
    for (const pid of pids.slice(1)) process.kill(pid, 'SIGKILL')
    gate.open()
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
    const gate = new Gate()
    const answers = pool.broadcast('shortUnless', [gate.path, journal.path], { retryLost: 1 })
    await until('all run', () => journal.lines.length === 3)
    for (const pid of pids.slice(1)) process.kill(pid, 'SIGKILL')
    await until('two run again', () => journal.lines.length === 5)
    gate.open()
    const answered = (await within(answers, 20_000, 'broadcast()')) as number[]
    expect(new Set(answered).size).toBe(3)
    expect(answered.filter((pid) => pids.includes(pid))).toEqual([pids[0]])
  })

  it('is answered by nobody for places that are taken away before anyone is there', async () => {
    const pool = await startPool({ workers: 4 })
    const answers = pool.broadcast('pid', [])
    pool.resize(1)
    const answered = (await within(answers, 20_000, 'broadcast()')) as number[]
    expect(answered).toEqual([await pidOf(pool)])
  })

  it('while workers are resized, ended and restarted asks nobody twice', async () => {
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
    await within(Promise.allSettled(rounds), 30_000, 'all of it')
    expect(answered.length).toBeGreaterThan(0)
    for (const pids of answered) expect(new Set(pids).size).toBe(pids.length)
  })

  it('runs nowhere where there is no room in the queue for all of it', async () => {
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
