import { WorkerLostError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { fixture, startPool } from '../fixtures/pools.js'
import { failure, Journal, until, within } from '../fixtures/support.js'

describe('promise 3: retryLost', () => {
  it('runs an accepted job again, and counts the attempts', async () => {
    const pool = await startPool()
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
    const pool = await startPool()
    const journal = new Journal()
    const error = await failure(pool.run('dieOnAttempts', [99, journal.path, 'a'], { retryLost: 2 }))
    expect(error).toBeInstanceOf(WorkerLostError)
    expect(error).toMatchObject({ accepted: true })
    expect(journal.lines).toEqual(['+a', '+a', '+a'])
  })

  it('is not there unless it was asked for', async () => {
    const pool = await startPool()
    const journal = new Journal()
    await failure(pool.run('dieOnAttempts', [99, journal.path, 'a']))
    await failure(pool.run('dieOnAttempts', [99, journal.path, 'b'], { retryLost: 0 }))
    expect(journal.lines).toEqual(['+a', '+b'])
  })

  it('comes from defineTask too, and the run option beats it', async () => {
    const pool = await startPool({ tasks: fixture('hooks.js') })
    const journal = new Journal()
    expect(await pool.run('retried', [journal.path])).toBe(3)
    expect(await failure(pool.run('retried', [journal.path], { retryLost: 0 }))).toBeInstanceOf(WorkerLostError)
    expect(journal.lines).toHaveLength(4)
  })

  it('does not repeat what the task threw', async () => {
    const pool = await startPool({ tasks: fixture('errors.js') })
    const job = pool.submit('throwIt', [], { retryLost: 5 })
    expect(await failure(job.result)).toBeInstanceOf(TypeError)
    expect(job).toMatchObject({ attempt: 1, state: 'failed' })
  })

  it('finds the culprit of a shared crash: neighbours run one after another and go free', async () => {
    const pool = await startPool({ concurrency: 4 })
    const journal = new Journal()
    const innocents = [1, 2, 3].map((id) => pool.submit('dieOnAttempts', [0, journal.path, id, 150], { retryLost: 1 }))
    const culprit = pool.submit('dieAfterLines', [journal.path, 'culprit', 4], { retryLost: 1 })
    const newcomer = pool.submit('overlap', [journal.path, 'newcomer', 1])
    expect(await failure(culprit.result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
    expect(await within(Promise.all(innocents.map((job) => job.result)), 15_000)).toEqual([2, 2, 2])
    await newcomer.result
    // After the crash: each suspect alone, before anything else.
    const second = journal.lines.slice(4)
    const pairs = second.filter((line) => !line.endsWith('culprit')).slice(0, 6)
    for (let index = 0; index < pairs.length; index += 2) expect(pairs[index + 1]).toBe(pairs[index]!.replace('+', '-'))
    expect(second.indexOf('+newcomer')).toBeGreaterThan(second.indexOf('+culprit'))
  })

  it('lets the other workers go on while the suspects are tried', async () => {
    const pool = await startPool({ workers: 2, concurrency: 2 })
    const journal = new Journal()
    const suspects = [1, 2, 3].map((id) => pool.submit('dieOnAttempts', [0, journal.path, id, 1_000], { retryLost: 2 }))
    const culprit = pool.submit('dieAfterLines', [journal.path, 'culprit', 4], { retryLost: 0 })
    await failure(culprit.result)
    const suspect = await until('a suspect waits for its turn', () => suspects.find((job) => job.attempt === 2))
    for (let index = 0; index < 20; index += 1) await pool.run('echo', [index])
    expect(suspect.state).not.toBe('lost')
    await Promise.all(suspects.map((job) => job.result))
  })
})

describe('promise 3: a stream with retryLost', () => {
  it('is tried again when no item had arrived, and not when one had', async () => {
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
