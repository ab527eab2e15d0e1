import { SoftTimeLimitError, TimeLimitError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { allUp, fixture, pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { blockHost, failure, gone, Journal, until } from '../fixtures/support.js'

describe('promise 5: a soft limit', () => {
  const shared = sharedPool()
  const shortGrace = sharedPool({ cancelGrace: 400 })

  it('aborts the signal: a value that the task then returns counts', async () => {
    const { pool } = shared
    const events: string[] = []
    pool.on('softTimeLimit', ({ id }) => events.push(id))
    const pid = await pidOf(pool)
    const journal = new Journal()
    const job = pool.submit('untilAborted', [journal.path, 'partial'], { softTimeLimit: 80 })
    job.on('softTimeLimit', () => events.push('of the job'))
    expect(job.softTimedOut).toBe(false)
    expect(await job.result).toBe('partial')
    expect(job).toMatchObject({ softTimedOut: true, state: 'succeeded' })
    expect(events.sort()).toEqual(['of the job', job.id].sort())
    expect(journal.lines[1]).toContain('aborted SoftTimeLimitError ERR_PREFORK_SOFT_TIME_LIMIT')
    expect(await pidOf(pool)).toBe(pid)
  })

  it('aborts the signal: an error that the task then throws counts', async () => {
    const { pool } = shared
    const job = pool.submit('untilAborted', [undefined, 'throw'], { softTimeLimit: 80 })
    expect(await failure(job.result)).toMatchObject({ name: 'Error', message: 'thrown in answer' })
    expect(job).toMatchObject({ softTimedOut: true, state: 'failed' })
  })

  it('only aborts the signal while the event loop turns: the task may end late', async () => {
    const { pool } = shortGrace
    const pid = await pidOf(pool)
    const job = pool.submit('ignoreAbortFor', [undefined, 900], { softTimeLimit: 50 })
    expect(await job.result).toBe('late')
    expect(job.softTimedOut).toBe(true)
    expect(await pidOf(pool)).toBe(pid)
  })

  it('without a hard limit ends the worker after cancelGrace', async () => {
    const { pool } = shortGrace
    const pid = await pidOf(pool)
    const error = await failure(pool.run('never', [], { softTimeLimit: 100 }))
    expect(error).toBeInstanceOf(SoftTimeLimitError)
    expect(error).toMatchObject({ limit: 100, taskStack: 'not executing JavaScript (awaiting or in native code)' })
    expect(await pidOf(pool)).not.toBe(pid)
    await gone([pid])
  })

  it('is followed by the hard limit if there is one', async () => {
    const { pool } = shared
    const job = pool.submit('never', [], { softTimeLimit: 100, timeLimit: 400 })
    const error = await failure(job.result)
    expect(error).toBeInstanceOf(TimeLimitError)
    expect(error).toMatchObject({ limit: 400 })
    expect(job.softTimedOut).toBe(true)
  })
})

describe('promise 5: time limits', () => {
  const shared = sharedPool()
  const hard = sharedPool({ timeLimit: 150 })
  const soft = sharedPool({ softTimeLimit: 300 })

  it('count from acceptance, not from submission', async () => {
    const { pool } = shared
    const jobs = Array.from({ length: 4 }, (_, index) => pool.run('sleep', [250, index], { timeLimit: 900, softTimeLimit: 800 }))
    expect(await Promise.all(jobs)).toEqual([0, 1, 2, 3])
  })

  it('of the pool apply to every job', async () => {
    expect(await failure(hard.pool.run('never', []))).toMatchObject({ name: 'TimeLimitError', limit: 150 })
    expect(await soft.pool.run('untilAborted', [undefined, 'answered'])).toBe('answered')
  })

  it('below an inherited soft limit disable it', async () => {
    const { pool } = soft
    const job = pool.submit('ignoreAbortFor', [undefined, 60_000], { timeLimit: 150 })
    expect(await failure(job.result)).toMatchObject({ name: 'TimeLimitError', limit: 150 })
    expect(job.softTimedOut).toBe(false)
  })

  it('given as undefined do not count', async () => {
    const { pool } = hard
    expect(await failure(pool.run('never', [], { timeLimit: undefined, softTimeLimit: undefined }))).toMatchObject({ limit: 150 })
  })

  it('do not fail a job whose answer waited while the host was blocked', async () => {
    const pool = await startPool({ workers: 2 })
    await allUp(pool, 2)
    const jobs = [pool.submit('sleep', [100, 'a'], { timeLimit: 700 }), pool.submit('sleep', [100, 'b'], { softTimeLimit: 700 })]
    await until('both have begun', () => jobs.every((job) => job.accepted))
    blockHost(2_000)
    expect(await Promise.all(jobs.map((job) => job.result))).toEqual(['a', 'b'])
  })
})

describe('promise 5: without a watchdog', () => {
  const options = { watchdog: false, cancelGrace: 150 } as const
  const shared = sharedPool(options)
  const looping = sharedPool({ ...options, tasks: fixture('interruption-sites.js') })

  it('the deadline of the host ends a busy loop', async () => {
    const { pool } = looping
    const pid = await pidOf(pool)
    const journal = new Journal()
    expect(await failure(pool.run('sync', [journal.path], { timeLimit: 200 }))).toMatchObject({ name: 'TimeLimitError', limit: 200 })
    const soft = await failure(pool.run('sync', [journal.path], { softTimeLimit: 200 }))
    expect(soft).toMatchObject({ name: 'SoftTimeLimitError', limit: 200 })
    expect(journal.lines).toHaveLength(2)
    expect(await pidOf(pool)).not.toBe(pid)
  })

  it('a soft limit in a busy loop ends the worker, as no safe interruption exists', async () => {
    const { pool } = looping
    const pid = await pidOf(pool)
    await failure(pool.run('sync', [new Journal().path], { softTimeLimit: 150 }))
    expect(await pidOf(pool)).not.toBe(pid)
  })

  it('a soft limit and a cancellation abort the signal of a task whose event loop turns', async () => {
    const { pool } = shared
    const pid = await pidOf(pool)
    expect(await pool.run('untilAborted', [undefined, 'answered'], { softTimeLimit: 100 })).toBe('answered')
    const journal = new Journal()
    const job = pool.submit('untilAborted', [journal.path])
    await journal.seen('begun')
    job.cancel()
    await failure(job.result)
    await until('the signal of the task has aborted', () => journal.lines.length > 1)
    expect(await pidOf(pool)).toBe(pid)
  })
})
