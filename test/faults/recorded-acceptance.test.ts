import { describe, expect, it } from 'vitest'
import { sharedFiles } from '../fixtures/hosts/resources.js'
import { allUp, fixture, pidOf, startPool, upPids } from '../fixtures/pools.js'
import { failure, Journal, until } from '../fixtures/support.js'

// The jobs of `run` that come alone: no ACCEPTED tells the host that they run.
describe.skipIf(process.platform !== 'linux')('promises 1, 2: the only job of a worker, whose acceptance is recorded', () => {
  it('is lost as accepted when its worker dies, and did not run elsewhere', async () => {
    const pool = await startPool()
    await pidOf(pool)
    const journal = new Journal()
    const lost = failure(pool.run('markAndSpin', [journal.path, 'job', 60_000]))
    await journal.seen('job')
    process.kill(upPids(pool)[0]!, 'SIGKILL')
    expect(await lost).toMatchObject({ name: 'WorkerLostError', accepted: true })
    await pidOf(pool)
    expect(journal.lines).toEqual(['job'])
  })

  it('runs once, in the next worker, when its worker died before it took it up', async () => {
    const pool = await startPool()
    const pid = await pidOf(pool)
    const journal = new Journal()
    process.kill(pid, 'SIGSTOP')
    const answer = pool.run('mark', [journal.path, 'job'])
    await until('it is written', () => pool.stats().workers[0]!.writtenAhead === 1)
    expect(pool.stats().running).toBe(0)
    process.kill(pid, 'SIGKILL')
    expect(await answer).toBe('job')
    expect(journal.lines).toEqual(['job'])
    expect(pool.stats().totals.putBack).toBe(1)
  })

  it('is shown as running, and its wait and its run are measured by the times of the worker', async () => {
    const pool = await startPool()
    const answer = pool.run('sleep', [300, 'done'])
    await until('it runs', () => pool.stats().running === 1)
    expect(pool.stats()).toMatchObject({ queued: 0, workers: [{ job: { name: 'sleep' }, running: 1, writtenAhead: 0 }] })
    expect(await answer).toBe('done')
    const { wait, run, roundTrip } = pool.stats().latency
    // The histogram's classes are some per cent wide.
    expect(run.max).toBeGreaterThan(250)
    expect(wait.max + run.max).toBeLessThan(roundTrip.max * 1.2 + 1)
  })

  it('frees a place in a full queue when it is taken up, not when it ends', async () => {
    const pool = await startPool({ maxQueue: 4 })
    const pid = await pidOf(pool)
    const journal = new Journal()
    process.kill(pid, 'SIGSTOP')
    const running = failure(pool.run('markAndSpin', [journal.path, 'first', 60_000]))
    await until('it is written', () => pool.stats().workers[0]!.writtenAhead === 1)
    const waiting = [1, 2, 3].map((id) => pool.run('mark', [journal.path, id]))
    expect(await failure(pool.run('pid', []))).toMatchObject({ name: 'QueueFullError' })
    const ready = pool.ready()
    process.kill(pid, 'SIGCONT')
    await ready
    expect(pool.stats()).toMatchObject({ queued: 3, running: 1 })
    // It is accepted before it writes.
    await journal.seen('first')
    process.kill(pid, 'SIGKILL')
    expect(await running).toMatchObject({ name: 'WorkerLostError', accepted: true })
    expect(await Promise.all(waiting)).toEqual([1, 2, 3])
  })

  it('leaves its place to a job that is submitted before the host knows that it was taken up', async () => {
    const pool = await startPool({ maxQueue: 4 })
    const pid = await pidOf(pool)
    const journal = new Journal()
    const running = failure(pool.run('markAndSpin', [journal.path, 'first', 60_000]))
    await journal.seen('first')
    const waiting = [1, 2, 3, 4].map((id) => pool.run('mark', [journal.path, id]))
    expect(await failure(pool.run('pid', []))).toMatchObject({ name: 'QueueFullError' })
    process.kill(pid, 'SIGKILL')
    expect(await running).toMatchObject({ name: 'WorkerLostError', accepted: true })
    expect(await Promise.all(waiting)).toEqual([1, 2, 3, 4])
  })

  it('is announced once a task has closed the record', async () => {
    const pool = await startPool({ tasks: fixture('fault-tasks.js') })
    await pool.run('closeFd', [6])
    const answers = []
    for (let each = 0; each < 3; each++) answers.push(await pool.run('takeMuch', [each]))
    expect(answers).toEqual([0, 1, 2])
    expect(pool.stats().totals).toMatchObject({ succeeded: 4, workersDied: 0 })
  })

  it('has a record for each worker, which is closed when the worker is gone', async () => {
    const before = sharedFiles()
    const pool = await startPool({ workers: 2, sharedMemory: 0 })
    await allUp(pool, 2)
    expect(sharedFiles()).toBe(before + 2)
    await pool.restart()
    await until('two are left', () => sharedFiles() === before + 2)
    await pool.close()
    expect(sharedFiles()).toBe(before)
  })
})
