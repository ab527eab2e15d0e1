import { WorkerLostError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { failure, gone, isAlive, Journal, until, within } from '../fixtures/support.js'

/** No test would see the end of this grace. */
const LONG = 600_000

const patient = sharedPool({ cancelGrace: LONG })

describe('promise 4: job.cancel() with a grace of 0', () => {
  it('rejects at once, and ends the process of the job at once', async () => {
    const { pool } = patient
    const journal = new Journal()
    const exits: string[] = []
    pool.on('workerExit', ({ reason }) => exits.push(reason))
    const pid = await pidOf(pool)
    const job = pool.submit('ignoreAbort', [journal.path], { retryLost: 3 })
    await journal.seen('begun')
    expect(job.cancel('enough', { grace: 0 })).toBe(true)
    expect(job.state).toBe('cancelled')
    expect(await failure(job.result)).toBe('enough')
    await gone([pid], 10_000)
    expect(await pidOf(pool)).not.toBe(pid)
    expect(exits).toEqual([`The job 'ignoreAbort' (${job.id}) was cancelled with a grace of 0 ms.`])
    expect(journal.lines).toEqual(['begun'])
  })

  it('does not ask the task, which would have ended by itself', async () => {
    const { pool } = patient
    const journal = new Journal()
    const pid = await pidOf(pool)
    const job = pool.submit('untilAborted', [journal.path, 'partial'])
    await journal.seen('begun')
    // Before that the host does not know that the job runs: its worker is told of the cancellation, and so is the task.
    await until('the host knows it', () => job.accepted)
    job.cancel('enough', { grace: 0 })
    await gone([pid], 10_000)
    expect(journal.lines).toEqual(['begun'])
  })

  it("with cancel: 'ask' rejects once the process is gone", async () => {
    const { pool } = patient
    const pid = await pidOf(pool)
    const job = pool.submit('spinFor', [LONG], { cancel: 'ask' })
    await until('it runs', () => job.accepted)
    job.cancel('enough', { grace: 0 })
    expect(job.state).toBe('accepted')
    expect(await within(failure(job.result), 10_000)).toBe('enough')
    expect(isAlive(pid)).toBe(false)
    expect(job.state).toBe('cancelled')
  })

  it('loses its neighbours, or runs them again, as a time limit does', async () => {
    const pool = await startPool({ concurrency: 3, cancelGrace: LONG })
    const journal = new Journal()
    const job = pool.submit('ignoreAbort', [journal.path])
    const lost = pool.submit('never', [])
    const again = pool.submit('sleep', [1_500, 'survived'], { retryLost: 1 })
    await journal.seen('begun')
    await until('all run', () => lost.accepted && again.accepted)
    job.cancel('enough', { grace: 0 })
    const error = await within(failure(lost.result), 10_000)
    expect(error).toBeInstanceOf(WorkerLostError)
    expect(error).toMatchObject({
      reason: 'killed by the pool',
      accepted: true,
      message: expect.stringContaining(`'ignoreAbort' (${job.id}) was cancelled with a grace of 0`),
    })
    expect(await within(again.result, 10_000)).toBe('survived')
    expect(again.attempt).toBe(2)
  })

  it('costs a job that is still queued, or that has answered, no process', async () => {
    const pool = await startPool({ dispatch: 'fair' })
    const pid = await pidOf(pool)
    const running = pool.submit('sleep', [300, 'unharmed'])
    await until('it runs', () => running.accepted)
    expect(pool.submit('echo', [1]).cancel('enough', { grace: 0 })).toBe(true)
    expect(await running.result).toBe('unharmed')
    expect(running.cancel('too late', { grace: 0 })).toBe(false)
    expect(await pidOf(pool)).toBe(pid)
  })

  it('ends a job that was being written when it was cancelled, if its worker begins it', async () => {
    const pool = await startPool({ dispatch: 'fast', cancelGrace: LONG })
    for (let round = 0; round < 3; round += 1) {
      const journal = new Journal()
      const job = pool.submit('ignoreAbort', [journal.path])
      await new Promise((resolve) => setImmediate(resolve))
      job.cancel('enough', { grace: 0 })
      await within(job.began, 10_000)
      // It would occupy the only slot.
      expect(await within(pool.run('echo', [round]), 20_000)).toBe(round)
    }
  })
})

describe('promise 4: the grace of a cancellation', () => {
  it('is shortened by a second one, also after the job has rejected', async () => {
    for (const cancel of [undefined, 'ask'] as const) {
      const { pool } = patient
      const journal = new Journal()
      const pid = await pidOf(pool)
      const job = pool.submit('ignoreAbort', [journal.path], { cancel })
      await journal.seen('begun')
      job.cancel('first')
      expect(job.cancel('second', { grace: LONG })).toBe(cancel === 'ask')
      expect(job.cancel('third', { grace: 50 })).toBe(cancel === 'ask')
      expect(await within(failure(job.result), 10_000)).toBe('first')
      await gone([pid], 10_000)
    }
  })

  it('is not lengthened by a second one', async () => {
    const { pool } = patient
    const journal = new Journal()
    const pid = await pidOf(pool)
    const job = pool.submit('ignoreAbort', [journal.path], { cancel: 'ask' })
    await journal.seen('begun')
    job.cancel('first', { grace: 100 })
    job.cancel('second', { grace: LONG })
    job.cancel('third')
    expect(await within(failure(job.result), 10_000)).toBe('first')
    expect(isAlive(pid)).toBe(false)
  })

  it('may be longer than cancelGrace, even where the main thread does not turn', async () => {
    const pool = await startPool({ cancelGrace: 50 })
    const pid = await pidOf(pool)
    const journal = new Journal()
    const idle = pool.submit('ignoreAbortFor', [journal.path, 600])
    await journal.seen('begun')
    idle.cancel('enough', { grace: LONG })
    expect(await within(pidOf(pool), 10_000)).toBe(pid)
    const file = new Journal()
    // Its loop comes after an await, where nothing is interrupted.
    const blocked = pool.submit('awaitThenSpin', [file.path, 600])
    await file.seen('begun')
    blocked.cancel('enough', { grace: LONG })
    expect(await within(pidOf(pool), 10_000)).toBe(pid)
  })

  const shared = sharedPool()

  it.each([
    [{ grce: 0 }, "Unknown option 'grce' of job.cancel; did you mean 'grace'?"],
    [{ grace: -1 }, "Option 'grace' must be a number of milliseconds above 0 and at most 2147483647, or 0; it was given -1."],
    [{ grace: 2 ** 31 }, "Option 'grace' must be"],
    [{ grace: '1s' }, "Option 'grace' must be"],
    [0, "Option 'options' must be an object; it was given 0."],
  ])('%o is refused, and cancels nothing', async (options, message) => {
    const { pool } = shared
    const job = pool.submit('sleep', [50, 'done'])
    expect(() => job.cancel('enough', options as never)).toThrow(message)
    expect(() => job.cancel('enough', options as never)).toThrow(TypeError)
    expect(await job.result).toBe('done')
  })
})
