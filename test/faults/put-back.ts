import { readFileSync } from 'node:fs'
import { WorkerLostError } from 'prefork'
import { expect, it } from 'vitest'
import { startPool, type TestPool } from '../fixtures/pools.js'
import { failure, Journal, Latch, until, within } from '../fixtures/support.js'

/** Tests these values of `maxPutBacks`. */
export const lostAfter = (values: readonly number[]): void => {
  it.each(values)('are lost after maxPutBacks (%i), without having begun', async (maxPutBacks) => {
    const pool = await startPool({ dispatch: 'fast', maxPutBacks })
    const journal = new Journal()
    const latch = new Latch()
    let deaths = 0
    let victim: ReturnType<TestPool['submit']> | undefined
    // A holder with priority always runs first, so that the victim stays unaccepted in the pipe.
    for (let round = 0; round < 10; round += 1) {
      const holder = pool.submit('holdSync', [latch.path, journal.path, `holder ${round}`], { priority: 1 })
      victim ??= pool.submit('mark', [journal.path, 'victim'])
      await journal.seen(`+holder ${round}`)
      await until('the victim is written', () => victim!.state === 'written')
      process.kill(await until('the worker is known', () => pool.stats().workers.find((worker) => worker.job)?.pid), 'SIGKILL')
      deaths += 1
      await failure(holder.result)
      if ((await until('the victim has left the pipe', () => victim!.state !== 'written' && victim!.state)) !== 'queued') break
    }
    const error = await failure(victim!.result)
    expect(error).toBeInstanceOf(WorkerLostError)
    expect(error).toMatchObject({ accepted: false, reason: 'put back too often' })
    expect(victim).toMatchObject({ accepted: false, state: 'lost' })
    expect(await victim!.began).toBe(false)
    expect(journal.has('victim')).toBe(false)
    expect([maxPutBacks, maxPutBacks + 1]).toContain(deaths)
    expect(await pool.run('echo', ['fine'])).toBe('fine')
  })
}

/** What was damaged, and the task and its arguments that damage it. */
type Damage = readonly [what: string, task: string, args: readonly unknown[]]

/** Tests what a task can do to the pipes of its worker. */
export const damages = (chosen: readonly Damage[]): void => {
  it.each(chosen)('%s: everything settles, and each job that had not begun runs once', async (_, task, args) => {
    const pool = await startPool({
      dispatch: 'fast',
      heartbeatInterval: 200,
      heartbeatTimeout: 1_500,
      lostWorkerTimeout: 500,
      maintainInterval: 500,
      timeLimit: 4_000,
    })
    const journal = new Journal()
    const faulty = pool.submit(task, [...args])
    const jobs = Array.from({ length: 20 }, (_, index) => pool.submit('mark', [journal.path, `(${index})`]))
    await within(Promise.allSettled([faulty, ...jobs].map((job) => job.result)), 25_000, 'a job behind the faulty')
    // Not by lines: after a descriptor is closed the journal may get its number, and the worker may write frames before the first line.
    const written = readFileSync(journal.path, 'latin1')
    for (const [index, job] of jobs.entries()) {
      const marks = written.split(`(${index})`).length - 1
      if (job.state === 'succeeded') expect(marks).toBe(1)
      else {
        expect(job.accepted, `job ${index} was not accepted and must not be lost`).toBe(true)
        expect(marks).toBeLessThanOrEqual(1)
      }
    }
    expect(await within(pool.run('echo', ['fine']), 15_000)).toBe('fine')
  })
}

/** Tests a closed results pipe with and without a watchdog. */
export const protocolErrors = (watchdogs: readonly boolean[]): void => {
  it.each(watchdogs)('loses the job as a protocol error, not by the signal, when its results pipe is closed (watchdog: %s)', async (watchdog) => {
    const pool = await startPool({ dispatch: 'fast', watchdog })
    const reasons: unknown[] = []
    pool.on('workerExit', ({ reason }) => reasons.push(reason))
    // Whichever thread reads the lifeline answers: the worker is alive.
    await pool.stack(pool.stats().workers[0]!.id)
    const journal = new Journal()
    const faulty = pool.submit('closeFd', [4])
    const behind = Array.from({ length: 5 }, (_, index) => pool.submit('mark', [journal.path, index]))
    const error = await failure(faulty.result)
    expect(error).toMatchObject({ name: 'WorkerLostError', accepted: true, reason: 'protocol' })
    expect((error as Error).message).toMatch(/results pipe was closed or damaged in the worker \(EBADF/)
    expect(await Promise.all(behind.map((job) => job.result))).toEqual([0, 1, 2, 3, 4])
    expect(journal.lines).toEqual(['0', '1', '2', '3', '4'])
    expect(reasons).toEqual([expect.stringContaining('results pipe')])
  })
}

/** Tests jobs among which every twelfth crashes its worker. */
export const crashing = (crashes: number): void => {
  it(`are not lost when ${crashes} jobs written before them crash their workers`, async () => {
    const pool = await startPool({ workers: 2 })
    // Short until now, so that the dispatcher writes ahead.
    await Promise.all(Array.from({ length: 50 }, (_, n) => pool.run('exitIf', [false, n])))
    const jobs = Array.from({ length: 12 * crashes }, (_, n) => pool.run('exitIf', [n % 12 === 11, n]))
    const outcomes = await Promise.allSettled(jobs)
    const failed = outcomes.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))
    expect(failed).toEqual(Array.from({ length: crashes }, (_, crash) => 12 * crash + 11))
  })
}
