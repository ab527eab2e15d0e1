import { WorkerLostError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { fixture, pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { failure, isAlive, Journal, Latch, until, within } from '../fixtures/support.js'
import { ASK, endings, uninterrupted } from './cancel-ask.js'

describe("promise 4: a job with cancel: 'ask' that is cancelled while it runs", () => {
  const shared = sharedPool()

  it('settles with the value that its task then returns', async () => {
    const { pool } = shared
    const journal = new Journal()
    const settled: unknown[] = []
    const pid = await pidOf(pool)
    pool.on('jobSettled', ({ id, state, worker, error }) => settled.push({ id, state, worker, error }))
    const job = pool.submit('untilAborted', [journal.path, 'partial'], ASK)
    await until('it runs', () => job.accepted)
    expect(job.cancel(new Error('enough'))).toBe(true)
    expect(job.state).toBe('accepted')
    expect(settled).toEqual([])
    expect(await within(job.result, 10_000)).toBe('partial')
    expect(journal.lines[1]).toBe('aborted Error undefined enough')
    expect(job.state).toBe('succeeded')
    expect(settled).toEqual([{ id: job.id, state: 'succeeded', worker: job.worker, error: undefined }])
    expect(pool.stats()).toMatchObject({ running: 0, totals: { cancelled: 0 } })
    expect(job.cancel()).toBe(false)
    expect(await pidOf(pool)).toBe(pid)
  })

  it('settles with the error that its task then throws', async () => {
    const { pool } = shared
    const journal = new Journal()
    const job = pool.submit('untilAborted', [journal.path, 'throw'], ASK)
    await journal.seen('begun')
    job.cancel()
    expect(await within(failure(job.result), 10_000)).toMatchObject({ name: 'Error', message: 'thrown in answer' })
    expect(job.state).toBe('failed')
  })

  it('takes an aborted signal for a cancellation', async () => {
    const { pool } = shared
    const journal = new Journal()
    const controller = new AbortController()
    const result = pool.run('untilAborted', [journal.path, 'partial'], { ...ASK, signal: controller.signal })
    await journal.seen('begun')
    controller.abort('enough')
    expect(await within(result, 10_000)).toBe('partial')
  })

  it('rejects with the reason once its process is gone, when it does not end within cancelGrace; nothing runs it again', async () => {
    const pool = await startPool({ cancelGrace: 200 })
    const journal = new Journal()
    const settled: unknown[] = []
    pool.on('jobSettled', ({ id, state, error }) => settled.push({ id, state, error }))
    const pid = await pidOf(pool)
    const job = pool.submit('ignoreAbort', [journal.path], { ...ASK, retryLost: 3, id: 'deaf' })
    await journal.seen('begun')
    const reason = new Error('enough')
    let alive: boolean | undefined
    job.cancel(reason)
    const error = await within(
      job.result.catch((thrown: unknown) => {
        alive = isAlive(pid)
        return thrown
      }),
      10_000,
    )
    expect(error).toBe(reason)
    expect(alive).toBe(false)
    expect(job).toMatchObject({ state: 'cancelled', attempt: 1, accepted: true })
    expect(settled.at(-1)).toEqual({ id: 'deaf', state: 'cancelled', error: reason })
    expect(await pidOf(pool)).not.toBe(pid)
    expect(journal.lines).toEqual(['begun'])
    expect(pool.stats().totals).toMatchObject({ cancelled: 1, lost: 0, retried: 0 })
  })

  // The others: cancel-ask.long.test.ts.
  uninterrupted([true])

  it('ends an endless loop with its process', async () => {
    const pool = await startPool({ cancelGrace: 200 })
    const pid = await pidOf(pool)
    const job = pool.submit('spinFor', [1_000_000], ASK)
    await until('it runs', () => job.accepted)
    job.cancel('enough')
    expect(await within(failure(job.result), 10_000)).toBe('enough')
    expect(isAlive(pid)).toBe(false)
  })

  endings([['dies', {}, (pid) => process.kill(pid, 'SIGKILL')]])

  it('rejects with the reason when its code is interrupted at its soft limit', async () => {
    const pool = await startPool({ cancelGrace: 5_000 })
    const pid = await pidOf(pool)
    const job = pool.submit('spinFor', [1_000_000], { ...ASK, softTimeLimit: 500 })
    await until('it runs', () => job.accepted)
    job.cancel('enough')
    expect(await within(failure(job.result), 20_000)).toBe('enough')
    expect(job).toMatchObject({ state: 'cancelled', softTimedOut: true })
    expect(await pidOf(pool)).toBe(pid)
  })

  it('rejects with the reason when the pool is terminated, and close() waits for it', async () => {
    for (const end of ['terminate', 'close'] as const) {
      const pool = await startPool({ cancelGrace: 300 })
      const journal = new Journal()
      const job = pool.submit('ignoreAbort', [journal.path], ASK)
      await journal.seen('begun')
      job.cancel('enough')
      await within(pool[end](), 20_000)
      expect(job.state).toBe('cancelled')
      expect(await failure(job.result)).toBe('enough')
    }
  })

  it('rejects its neighbours as any death of their worker does', async () => {
    const pool = await startPool({ concurrency: 2, cancelGrace: 200 })
    const journal = new Journal()
    const job = pool.submit('ignoreAbort', [journal.path], ASK)
    const neighbour = pool.submit('never', [])
    await journal.seen('begun')
    await until('the neighbour runs', () => neighbour.accepted)
    job.cancel('enough')
    const error = await within(failure(neighbour.result), 10_000)
    expect(error).toBeInstanceOf(WorkerLostError)
    expect(error).toMatchObject({
      reason: 'killed by the pool',
      message: expect.stringContaining(`The cancelled job 'ignoreAbort' (${job.id}) did not end within 200 ms.`),
    })
    expect(await failure(job.result)).toBe('enough')
  })
})

describe("promise 4: a job with cancel: 'ask' that has not begun", () => {
  it('rejects at once while it is queued', async () => {
    const pool = await startPool({ dispatch: 'fair' })
    const journal = new Journal()
    const latch = new Latch()
    pool.run('hold', [latch.path, journal.path, 'holder'])
    await journal.seen('+holder')
    const job = pool.submit('mark', [journal.path, 'ran'], ASK)
    expect(job.cancel('enough')).toBe(true)
    expect(job.state).toBe('cancelled')
    expect(await failure(job.result)).toBe('enough')
    expect(await job.began).toBe(false)
    const late = pool.submit('mark', [journal.path, 'ran'], { ...ASK, signal: AbortSignal.abort('before') })
    expect(await failure(late.result)).toBe('before')
  })

  it('rejects when its worker has given it back, where it was written ahead', async () => {
    const pool = await startPool({ dispatch: 'fast' })
    const journal = new Journal()
    const latch = new Latch()
    pool.run('holdSync', [latch.path, journal.path, 'holder'])
    await journal.seen('+holder')
    const [victim, other] = [1, 2].map((id) => pool.submit('mark', [journal.path, id], ASK))
    await until('they are written', () => other!.state === 'written')
    expect(victim!.cancel('enough')).toBe(true)
    expect(victim!.state).toBe('written')
    expect(await within(failure(victim!.result), 10_000)).toBe('enough')
    expect(await victim!.began).toBe(false)
    expect(victim).toMatchObject({ state: 'cancelled', worker: undefined })
    latch.open()
    expect(await other!.result).toBe(2)
    expect(journal.lines).toEqual(['+holder', '-holder', '2'])
  })

  it('rejects with the reason when the worker that it was written to dies', async () => {
    const pool = await startPool({ dispatch: 'fast', maxPutBacks: 0 })
    const journal = new Journal()
    const latch = new Latch()
    const pid = await pidOf(pool)
    pool.run('holdSync', [latch.path, journal.path, 'holder'])
    await journal.seen('+holder')
    const victim = pool.submit('mark', [journal.path, 'ran'], ASK)
    await until('it is written', () => victim.state === 'written')
    process.kill(pid, 'SIGKILL')
    victim.cancel('enough')
    expect(await within(failure(victim.result), 20_000)).toBe('enough')
    expect(victim).toMatchObject({ state: 'cancelled', accepted: false })
    expect(journal.lines).toEqual(['+holder'])
  })

  it('reports exactly what ran, whether it was queued, written, accepted or done', async () => {
    const pool = await startPool({ workers: 2, concurrency: 2, dispatch: 'fast' })
    const journal = new Journal()
    const jobs = []
    for (let index = 0; index < 400; index += 1) {
      const job = pool.submit('append', [journal.path, `${index}\n`], ASK)
      jobs.push(job)
      if (index % 2 === 0) job.cancel()
      else if (index % 3 === 0) setImmediate(() => job.cancel())
      if (index % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    const outcomes = await within(Promise.allSettled(jobs.map((job) => job.result)), 20_000)
    const ran = new Set(journal.lines.map(Number))
    expect(journal.lines).toHaveLength(ran.size)
    // Nothing ends it by force here: what has begun has answered.
    expect(outcomes.map(({ status }, index) => [status === 'fulfilled', index])).toEqual(outcomes.map((_, index) => [ran.has(index), index]))
  })
})

describe("a stream with cancel: 'ask'", () => {
  const options = { tasks: fixture('streams.js'), cancelGrace: 10_000 }
  const shared = sharedPool(options)

  it('rejects with the reason, after the items that arrived, when its generator has closed', async () => {
    const { pool } = shared
    const journal = new Journal()
    const controller = new AbortController()
    const items = pool.stream('closesSlowly', [journal.path, 300], { ...ASK, signal: controller.signal })
    expect((await items.next()).value).toBe(0)
    controller.abort('enough')
    const rest: unknown[] = []
    const error = await within(
      failure(
        (async () => {
          for await (const item of items) rest.push(item)
        })(),
      ),
      10_000,
    )
    expect(error).toBe('enough')
    expect(journal.lines).toEqual(['closed'])
    expect(rest).toEqual(rest.map((_, index) => index + 1))
    expect(pool.stats().totals).toMatchObject({ cancelled: 1, succeeded: 0 })
  })

  it('has its loop left only when the generator has closed', async () => {
    const { pool } = shared
    const journal = new Journal()
    for await (const item of pool.stream('closesSlowly', [journal.path, 300], ASK)) if (item === 3) break
    expect(journal.lines).toEqual(['closed'])
  })

  it('rejects with the error of a generator that fails to close', async () => {
    const { pool } = shared
    const controller = new AbortController()
    const items = pool.stream('failsToClose', [], { ...ASK, signal: controller.signal })
    await items.next()
    controller.abort('enough')
    const rest = (async () => {
      for await (const _ of items);
    })()
    expect(await within(failure(rest), 10_000)).toMatchObject({ name: 'RangeError', message: 'the generator cannot close' })
  })

  it('is left when the process is gone, if its generator does not close in time', async () => {
    const pool = await startPool({ ...options, cancelGrace: 200 })
    const pid = await pidOf(pool)
    for await (const _ of pool.stream('closesSlowly', [undefined, 1_000_000], ASK)) break
    expect(isAlive(pid)).toBe(false)
  })
})

describe("a map and a broadcast with cancel: 'ask'", () => {
  const shared = sharedPool({ workers: 2, cancelGrace: 20_000 })

  it('rejects with the reason of its signal only when its jobs have ended', async () => {
    const { pool } = shared
    const journal = new Journal()
    const controller = new AbortController()
    const source = ['short', 'long', 'never begun'].map((id, index) => [journal.path, id, index * 400])
    const next = pool.map('endLater', source, { ...ASK, signal: controller.signal, concurrency: 2 }).next()
    await journal.seen('+short')
    await journal.seen('+long')
    controller.abort('enough')
    expect(await within(failure(next), 10_000)).toBe('enough')
    expect(journal.lines.slice(2)).toEqual(['-short', '-long'])
  })

  it('waits for its running jobs when its loop is left', async () => {
    const { pool } = shared
    const journal = new Journal()
    const map = pool.map('shortThenLater', [[], [journal.path, 'long', 400]], { ...ASK, ordered: false, concurrency: 2 })
    for await (const _ of map) {
      await journal.seen('+long')
      break
    }
    expect(journal.lines).toEqual(['+long', '-long'])
  })

  it('answers with what the tasks return', async () => {
    const { pool } = shared
    const controller = new AbortController()
    const journal = new Journal()
    const answers = pool.broadcast('untilAborted', [journal.path, 'partial'], { ...ASK, signal: controller.signal })
    await until('both run', () => pool.stats().running === 2)
    controller.abort()
    expect(await within(answers, 10_000)).toEqual(['partial', 'partial'])
  })
})

describe('the option cancel', () => {
  const shared = sharedPool()

  it.each([['now'], [true], ['']])('%o is refused with the choices', async (cancel) => {
    const { pool } = shared
    const error = await failure(pool.run('echo', [1], { cancel } as never))
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ message: expect.stringContaining("Option 'cancel' must be 'ask' (it settles once its task has ended), or left out") })
  })

  it('is cancelled, and runs no more, when a listener cancels it while the jobs of its dead worker are settled', async () => {
    const pool = await startPool({ workers: 1, concurrency: 2 })
    const journal = new Journal()
    const asked = pool.submit('untilAborted', [journal.path, 'partial'], { ...ASK, retryLost: 3 })
    await journal.seen('begun')
    const other = pool.submit('sleep', [60_000])
    await until('both run', () => other.accepted)
    pool.on('jobSettled', ({ id }) => id === other.id && asked.cancel(new Error('one was lost')))
    process.kill(pool.stats().workers[0]!.pid!, 'SIGKILL')
    expect(await failure(other.result)).toBeInstanceOf(WorkerLostError)
    expect(await within(failure(asked.result), 10_000)).toMatchObject({ message: 'one was lost' })
    expect([asked.state, asked.attempt, pool.stats().queued, pool.stats().running]).toEqual(['cancelled', 1, 0, 0])
    expect(await pool.run('echo', ['on'])).toBe('on')
  })
})
