import { WorkerLostError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { allUp, fixture, pidOf, startPool } from '../fixtures/pools.js'
import { failure, gone, Journal, Latch, until, within } from '../fixtures/support.js'

describe('promises 2, 4: a withdrawn job', () => {
  it('never runs and rejects with the reason while queued', async () => {
    const pool = await startPool({ dispatch: 'fair' })
    const journal = new Journal()
    const latch = new Latch()
    pool.run('hold', [latch.path, journal.path, 'holder'])
    await journal.seen('+holder')
    const victim = pool.submit('mark', [journal.path, 'victim'])
    expect(await victim.withdraw('gone')).toBe(true)
    expect(await failure(victim.result)).toBe('gone')
    expect(await victim.withdraw()).toBe(false)
    latch.open()
    await pool.close()
    expect(journal.lines).toEqual(['+holder', '-holder'])
  })

  it('comes back and never runs when it was written ahead behind a busy loop; its neighbours run', async () => {
    const pool = await startPool({ dispatch: 'fast' })
    const journal = new Journal()
    const latch = new Latch()
    const pid = await pidOf(pool)
    pool.run('holdSync', [latch.path, journal.path, 'holder'])
    await journal.seen('+holder')
    const jobs = [1, 2, 3].map((id) => pool.submit('mark', [journal.path, id]))
    await until('they are written', () => jobs.every(({ state }) => state === 'written'))
    expect(await within(jobs[1]!.withdraw(), 10_000)).toBe(true)
    expect(await failure(jobs[1]!.result)).toMatchObject({ name: 'AbortError' })
    expect(jobs[1]).toMatchObject({ state: 'cancelled', accepted: false })
    latch.open()
    expect(await Promise.all([jobs[0]!.result, jobs[2]!.result])).toEqual([1, 3])
    expect(journal.lines).toEqual(['+holder', '-holder', '1', '3'])
    expect(await pidOf(pool)).toBe(pid)
  })

  it('is left alone once it runs, also while it waits for a retry', async () => {
    const pool = await startPool()
    const journal = new Journal()
    const latch = new Latch()
    const running = pool.submit('hold', [latch.path, journal.path, 'x'])
    await journal.seen('+x')
    expect(await running.withdraw()).toBe(false)
    latch.open()
    expect(await running.result).toBe('x')
    const again = pool.submit('dieOnAttempts', [1, journal.path, 'y'], { retryLost: 1 })
    await until('it waits to run again', () => again.attempt === 2)
    expect(await again.withdraw()).toBe(false)
    expect(await again.result).toBe(2)
  })

  it('either ran or was taken back, also when many are withdrawn as they begin', async () => {
    const pool = await startPool({ workers: 2, dispatch: 'adaptive' })
    await allUp(pool, 2)
    const journal = new Journal()
    const jobs = Array.from({ length: 2_000 }, (_, id) => pool.submit('mark', [journal.path, id]))
    await until('some have run', () => jobs.some(({ state }) => state === 'succeeded'))
    const back = await Promise.all(jobs.map((job) => job.withdraw()))
    await Promise.allSettled(jobs.map((job) => job.result))
    const ran = new Set(journal.lines.map(Number))
    expect(journal.lines).toHaveLength(ran.size)
    for (const [id, job] of jobs.entries()) {
      expect([job.state, ran.has(id)]).toEqual(back[id] ? ['cancelled', false] : ['succeeded', true])
    }
    expect(back).toContain(true)
  })

  it('is taken back, not put back, when its worker dies first', async () => {
    const pool = await startPool({ dispatch: 'fast' })
    const journal = new Journal()
    const latch = new Latch()
    const pid = await pidOf(pool)
    const holder = failure(pool.run('holdSync', [latch.path, journal.path, 'holder']))
    await journal.seen('+holder')
    const job = pool.submit('mark', [journal.path, 'x'])
    await until('it is written', () => job.state === 'written')
    // Under SIGSTOP its watchdog does not answer.
    process.kill(pid, 'SIGSTOP')
    const back = job.withdraw()
    process.kill(pid, 'SIGKILL')
    expect(await back).toBe(true)
    await holder
    expect(await pool.run('echo', [1])).toBe(1)
    expect(journal.has('x')).toBe(false)
  })
})

describe('promise 3: pool.end', () => {
  it('ends one worker with the reason, in the error and in the event, and replaces it', async () => {
    const pool = await startPool({ workers: 2 })
    const pids = await allUp(pool, 2)
    const journal = new Journal()
    const latch = new Latch()
    const exits: { worker: number; reason: string; expected: boolean }[] = []
    pool.on('workerExit', (event) => exits.push(event))
    const job = pool.submit('holdSync', [latch.path, journal.path, 'x'])
    await journal.seen('+x')
    const busy = await until('the host knows where it runs', () => pool.stats().workers.find(({ running }) => running === 1))
    pool.end(busy.id, 'It stood still.')
    const error = await failure(job.result)
    expect(error).toBeInstanceOf(WorkerLostError)
    expect(error).toMatchObject({ reason: 'killed by the pool', accepted: true, message: expect.stringContaining('It stood still.') })
    await gone([busy.pid!])
    expect(exits).toMatchObject([{ worker: busy.id, reason: 'It stood still.', expected: false }])
    expect((await allUp(pool, 2)).filter((pid) => pids.includes(pid))).toHaveLength(1)
  })

  it('lets a job with retryLost run again elsewhere', async () => {
    const pool = await startPool()
    const journal = new Journal()
    const latch = new Latch()
    const retried: unknown[] = []
    pool.on('jobRetried', (event) => retried.push(event))
    const job = pool.submit('hold', [latch.path, journal.path, 'x'], { retryLost: 1 })
    await journal.seen('+x')
    pool.end(1, 'Enough.')
    await until('it runs again', () => journal.lines.length === 2)
    latch.open()
    expect(await job.result).toBe('x')
    expect(retried).toMatchObject([{ attempt: 2, worker: 1, reason: 'Enough.' }])
  })

  it('refuses an unknown worker and requires a reason', async () => {
    const pool = await startPool()
    expect(() => pool.end(7, 'x')).toThrow(/no worker 7; there are: 1/)
    expect(() => pool.end('1' as never, 'x')).toThrow(/The id of a worker is a number, .* not '1'/)
    expect(() => pool.end(1, '')).toThrow(TypeError)
  })
})

it('promise 3: the lines of a job are an event, and the task sees its delivery', async () => {
  const pool = await startPool({ tasks: fixture('farm-tasks.js'), output: 'capture' })
  const seen: unknown[] = []
  pool.on('jobLog', ({ id, worker, lines }) => seen.push(...lines.map(({ stream, text }) => [id, worker, stream, text])))
  await pool.run('print', ['one', 'two'], { id: 'p' })
  expect(seen).toEqual([
    ['p', 1, 'stdout', 'one'],
    ['p', 1, 'stdout', 'two'],
  ])
  const delivery = { redelivered: true, attempt: 2, losses: 1, requeues: 3, queue: 'q' }
  expect(await pool.run('shown', [], { delivery })).toMatchObject({ delivery })
  expect(await pool.run('shown', [])).toMatchObject({ delivery: undefined })
  expect(await failure(pool.run('shown', [], { delivery: 'no' as never }))).toMatchObject({ message: expect.stringContaining("Option 'delivery'") })
})
