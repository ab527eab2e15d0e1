import { createPool, PoolClosedError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { allUp, fixture, optionsOf, startPool, upPids } from '../fixtures/pools.js'
import { failure, gone, isAlive, Journal, Latch, until, within } from '../fixtures/support.js'

describe('promises 3, 6: close', () => {
  it('finishes every job and stops; later calls reject', async () => {
    const pool = await startPool({ workers: 2, dispatch: 'fast' })
    const pids = await allUp(pool, 2)
    const jobs = Array.from({ length: 30 }, (_, index) => pool.run('sleep', [5, index]))
    const closed = pool.close()
    const error = await failure(pool.run('echo', [1]))
    expect(error).toBeInstanceOf(PoolClosedError)
    expect(error).toMatchObject({ code: 'ERR_PREFORK_POOL_CLOSED' })
    expect(await failure(pool.submit('echo', [1]).result)).toBeInstanceOf(PoolClosedError)
    expect(await Promise.all(jobs)).toEqual(jobs.map((_, index) => index))
    await within(closed, 10_000)
    expect(pids.filter(isAlive)).toEqual([])
    await within(Promise.resolve(pool.close()), 10_000, 'a second close()')
    expect(await failure(pool.run('echo', [1]))).toBeInstanceOf(PoolClosedError)
    expect(pool.stats()).toMatchObject({ workers: [], queued: 0, running: 0, totals: { succeeded: 30 } })
  })

  it('says of a worker that still starts that the pool has ended it', async () => {
    const pool = await startPool({ tasks: new URL('../fixtures/starts/first-only.js', import.meta.url), workers: 2 })
    await until('the second starts', () => pool.stats().workers.length === 2)
    const exits: object[] = []
    pool.on('workerExit', (event) => exits.push(event))
    await within(pool.close(), 10_000)
    expect(exits).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ worker: 1, reason: 'exit', signal: null, expected: true }),
        expect.objectContaining({ worker: 2, reason: 'killed by the pool', signal: 'SIGKILL', expected: true }),
      ]),
    )
  })

  it('finishes after the death of a worker: jobs that had not begun still run', async () => {
    const pool = await startPool({ dispatch: 'fast' })
    const [pid] = upPids(pool)
    const journal = new Journal()
    const latch = new Latch()
    const holder = pool.run('holdSync', [latch.path, journal.path, 'holder'])
    await journal.seen('+holder')
    const jobs = [1, 2, 3].map((id) => pool.submit('mark', [journal.path, id]))
    await until('they are written', () => jobs.every((job) => job.state === 'written'))
    const closed = pool.close()
    process.kill(pid!, 'SIGKILL')
    await failure(holder)
    expect(await Promise.all(jobs.map((job) => job.result))).toEqual([1, 2, 3])
    await within(closed, 10_000)
  })

  it('with a timeout loses begun jobs and cancels the others; all reject with PoolClosedError', async () => {
    const pool = await startPool({ dispatch: 'fast' })
    const [pid] = upPids(pool)
    const journal = new Journal()
    const running = pool.submit('ignoreAbort', [journal.path])
    const waiting = pool.submit('mark', [journal.path, 'ran'])
    await journal.seen('begun')
    const closed = pool.close({ timeout: 150 })
    for (const job of [running, waiting]) expect(await failure(job.result)).toBeInstanceOf(PoolClosedError)
    expect([running.state, waiting.state]).toEqual(['lost', 'cancelled'])
    expect([await running.began, await waiting.began]).toEqual([true, false])
    await within(closed, 10_000)
    expect(isAlive(pid!)).toBe(false)
    expect(journal.lines).toEqual(['begun'])
  })

  it('loses nothing within its timeout', async () => {
    const pool = await startPool()
    const job = pool.run('sleep', [200, 'done'])
    await within(pool.close({ timeout: 30_000 }), 10_000)
    expect(await job).toBe('done')
  })

  it('runs the stop hooks and waits for them', async () => {
    const journal = new Journal()
    const pool = await startPool({ tasks: fixture('hooks.js'), env: { ...process.env, PREFORK_TEST_JOURNAL: journal.path } })
    expect(await pool.run('isOpen', [])).toBe(true)
    await pool.close()
    const pid = journal.lines[0]!.split(' ')[1]
    expect(journal.lines).toEqual([`start ${pid}`, `started ${pid}`, `stop ${pid}`, `stopped ${pid}`])
  })

  it('ends a worker whose stop hook never resolves', async () => {
    const journal = new Journal()
    const env = { ...process.env, PREFORK_TEST_JOURNAL: journal.path, PREFORK_TEST_STOP: 'hangs' }
    const pool = await startPool({ tasks: fixture('hooks.js'), cancelGrace: 100, env })
    const pids = upPids(pool)
    await within(pool.close(), 8_000, 'close()')
    await gone(pids)
    expect(journal.lines.at(-1)).toMatch(/^stop /)
  })

  it('is called by Symbol.asyncDispose', async () => {
    const pool = await createPool(optionsOf())
    const pids = upPids(pool)
    const job = pool.run('sleep' as never, [100, 'done'] as never)
    await pool[Symbol.asyncDispose]()
    expect(await job).toBe('done')
    await gone(pids)
  })
})

describe('promises 3, 6: terminate', () => {
  it('stops now, and every job settles', async () => {
    const pool = await startPool({ workers: 2, concurrency: 2, dispatch: 'fast' })
    const pids = await allUp(pool, 2)
    const journal = new Journal()
    const running = Array.from({ length: 4 }, () => pool.submit('ignoreAbort', [journal.path]))
    await until('all four run', () => journal.lines.length === 4)
    const waiting = Array.from({ length: 50 }, (_, index) => pool.submit('mark', [journal.path, index]))
    const stopped = pool.terminate()
    for (const [jobs, accepted] of [[running, true] as const, [waiting, false] as const]) {
      for (const job of jobs) {
        const error = await failure(job.result)
        expect(error).toBeInstanceOf(PoolClosedError)
        expect(error).toMatchObject({ accepted, message: expect.stringContaining(accepted ? 'had ended' : 'had begun') })
      }
    }
    await within(Promise.resolve(stopped), 10_000, 'terminate()')
    await gone(pids)
    expect(new Set(running.map((job) => job.state))).toEqual(new Set(['lost']))
    expect(new Set(waiting.map((job) => job.state))).toEqual(new Set(['cancelled']))
    expect(await Promise.all(waiting.map((job) => job.began))).toEqual(waiting.map(() => false))
    expect(await failure(pool.run('echo', [1]))).toBeInstanceOf(PoolClosedError)
    expect(journal.lines).toHaveLength(4)
  })

  it('during close() ends the wait, and both resolve', async () => {
    const pool = await startPool()
    const job = pool.submit('never', [])
    await until('it runs', () => job.accepted)
    const closed = pool.close()
    await pool.terminate()
    await within(Promise.resolve(closed), 5_000, 'close()')
    expect(await failure(job.result)).toBeInstanceOf(PoolClosedError)
  })

  it('may be called while workers start', async () => {
    const pool = await startPool({ workers: 4 })
    const jobs = Array.from({ length: 10 }, () => pool.submit('never', []))
    await within(Promise.resolve(pool.terminate()), 10_000, 'terminate()')
    for (const job of jobs) expect(await failure(job.result)).toBeInstanceOf(PoolClosedError)
  })
})
