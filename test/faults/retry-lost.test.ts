import { WorkerLostError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { fixture, sharedPool, startPool } from '../fixtures/pools.js'
import { failure, Journal, until, within } from '../fixtures/support.js'

describe('promise 3: retryLost', () => {
  const shared = sharedPool()

  it('runs an accepted job again and counts the attempts', async () => {
    const { pool } = shared
    const retried: unknown[] = []
    pool.on('jobRetried', (event) => retried.push(event))
    const job = pool.submit('dieOnAttempts', [2, undefined, 'a'], { retryLost: 2 })
    expect(await job.result).toBe(3)
    expect(job).toMatchObject({ attempt: 3, state: 'succeeded' })
    expect(retried).toMatchObject([
      { id: job.id, attempt: 2 },
      { id: job.id, attempt: 3 },
    ])
    expect(pool.stats().totals).toMatchObject({ retried: 2, succeeded: 1, lost: 0 })
  })

  it('is bounded: after the last attempt the job is lost', async () => {
    const { pool } = shared
    const journal = new Journal()
    const error = await failure(pool.run('dieOnAttempts', [99, journal.path, 'a'], { retryLost: 2 }))
    expect(error).toBeInstanceOf(WorkerLostError)
    expect(error).toMatchObject({ accepted: true })
    expect(journal.lines).toEqual(['+a', '+a', '+a'])
  })

  it('is 0 by default', async () => {
    const { pool } = shared
    const journal = new Journal()
    await failure(pool.run('dieOnAttempts', [99, journal.path, 'a']))
    await failure(pool.run('dieOnAttempts', [99, journal.path, 'b'], { retryLost: 0 }))
    expect(journal.lines).toEqual(['+a', '+b'])
  })

  it('is an option of defineTask too, and the run option overrides it', async () => {
    const pool = await startPool({ tasks: fixture('hooks.js') })
    const journal = new Journal()
    expect(await pool.run('retried', [journal.path])).toBe(3)
    expect(await failure(pool.run('retried', [journal.path], { retryLost: 0 }))).toBeInstanceOf(WorkerLostError)
    expect(journal.lines).toHaveLength(4)
  })

  it('does not repeat a job whose task threw', async () => {
    const pool = await startPool({ tasks: fixture('errors.js') })
    const job = pool.submit('throwIt', [], { retryLost: 5 })
    expect(await failure(job.result)).toBeInstanceOf(TypeError)
    expect(job).toMatchObject({ attempt: 1, state: 'failed' })
  })

  it('isolates the job that crashes a shared worker: the others run one after another and succeed', async () => {
    const pool = await startPool({ concurrency: 4 })
    const journal = new Journal()
    const others = [1, 2, 3].map((id) => pool.submit('dieOnAttempts', [0, journal.path, id, 150], { retryLost: 1 }))
    const culprit = pool.submit('dieAfterLines', [journal.path, 'culprit', 4], { retryLost: 1 })
    const newcomer = pool.submit('overlap', [journal.path, 'newcomer', 1])
    expect(await failure(culprit.result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
    expect(await within(Promise.all(others.map((job) => job.result)), 15_000)).toEqual([2, 2, 2])
    await newcomer.result
    // After the crash each of them runs alone, before any other job.
    const second = journal.lines.slice(4)
    const pairs = second.filter((line) => !line.endsWith('culprit')).slice(0, 6)
    for (let index = 0; index < pairs.length; index += 2) expect(pairs[index + 1]).toBe(pairs[index]!.replace('+', '-'))
    expect(second.indexOf('+newcomer')).toBeGreaterThan(second.indexOf('+culprit'))
  })

  it('does not block the other workers while the isolated retries run', async () => {
    const pool = await startPool({ workers: 2, concurrency: 2 })
    const journal = new Journal()
    const isolated = [1, 2, 3].map((id) => pool.submit('dieOnAttempts', [0, journal.path, id, 1_000], { retryLost: 2 }))
    const culprit = pool.submit('dieAfterLines', [journal.path, 'culprit', 4], { retryLost: 0 })
    await failure(culprit.result)
    const waiting = await until('a job waits for its isolated retry', () => isolated.find((job) => job.attempt === 2))
    for (let index = 0; index < 20; index += 1) await pool.run('echo', [index])
    expect(waiting.state).not.toBe('lost')
    await Promise.all(isolated.map((job) => job.result))
  })
})

describe('promise 3: a stream with retryLost', () => {
  it('runs again if no item had arrived, and is lost otherwise', async () => {
    const pool = await startPool({ tasks: fixture('streams.js') })
    const early = new Journal()
    const items: unknown[] = []
    for await (const item of pool.stream('diesAfter', [0, early.path], { retryLost: 1 })) items.push(item)
    expect(items).toEqual(['survived'])
    expect(early.lines).toEqual(['run', 'run'])

    const late = new Journal()
    const before: unknown[] = []
    const consumed = (async () => {
      for await (const item of pool.stream('diesAfter', [2, late.path], { retryLost: 1 })) before.push(item)
    })()
    expect(await failure(consumed)).toBeInstanceOf(WorkerLostError)
    expect(before).toEqual([0, 1])
    expect(late.lines).toEqual(['run'])
  })
})
