import { describe, expect, it } from 'vitest'
import { pidOf, startPool, upPids } from '../fixtures/pools.js'
import { blockHost, failure, gone, Journal, until } from '../fixtures/support.js'
import { deaths, OFTEN } from './worker-dies.js'

describe('promises 1, 3: a worker that dies during a job', () => {
  // The others: worker-dies.long.test.ts.
  deaths((how) => OFTEN.includes(how))

  it('loses the jobs beside it too, and no others', async () => {
    const pool = await startPool({ watchdog: false, workers: 2, concurrency: 3 })
    const journal = new Journal()
    const jobs = [0, 1, 2, 3, 4].map((id) => pool.submit('dieOnAttempts', [0, journal.path, id, 60_000]))
    const culprit = pool.submit('dieAfterLines', [journal.path, 'culprit', 6])
    await failure(culprit.result)
    const victims = jobs.filter((job) => job.state === 'lost')
    expect(victims).toHaveLength(2)
    for (const victim of victims) expect(await failure(victim.result)).toMatchObject({ name: 'WorkerLostError', accepted: true, signal: 'SIGKILL' })
    expect(pool.stats().running).toBe(3)
    expect(journal.lines).toHaveLength(6)
  })

  it('without a job only emits its exit event', async () => {
    const pool = await startPool({ watchdog: false })
    const exits: unknown[] = []
    pool.on('workerExit', (exit) => exits.push(exit))
    const before = await pidOf(pool)
    process.kill(before, 'SIGKILL')
    expect(await pidOf(pool)).not.toBe(before)
    expect(exits).toMatchObject([{ pid: before, signal: 'SIGKILL', exitCode: null, expected: false, jobs: [] }])
  })
})

describe('promises 1, 3: a result that was written before the death', () => {
  it('counts, small or large', async () => {
    const pool = await startPool({ watchdog: false, dispatch: 'fast' })
    for (const value of [Buffer.from('small'), Buffer.alloc(3_000_000, 5), Buffer.from('again')]) {
      const before = await pidOf(pool)
      expect(value.equals((await pool.run('answerThenDie', [value])) as Buffer)).toBe(true)
      expect(await pidOf(pool)).not.toBe(before)
    }
  })

  it('counts when the host reads it long after the death', async () => {
    const pool = await startPool({ watchdog: false, dispatch: 'fast' })
    const [pid] = upPids(pool)
    const journal = new Journal()
    const jobs = Array.from({ length: 50 }, (_, index) => pool.submit('mark', [journal.path, index]))
    const last = pool.submit('answerThenDie', ['done'])
    // The host flushes its writes, then blocks while the worker answers everything and dies.
    await new Promise((resolve) => setImmediate(resolve))
    blockHost(1_000)
    expect(await Promise.all(jobs.map((job) => job.result))).toEqual(jobs.map((_, index) => index))
    expect(await last.result).toBe('done')
    expect(journal.lines).toHaveLength(50)
    await gone([pid!])
  })

  it('is read until lostWorkerTimeout at most when another process holds the pipes open', async () => {
    const patient = await startPool({ watchdog: false, killTree: false, lostWorkerTimeout: 600_000 })
    const hasty = await startPool({ watchdog: false, killTree: false, lostWorkerTimeout: 300 })
    const [held, left] = [new Journal(), new Journal()]
    const die = (pool: typeof hasty, { path }: Journal) => pool.submit('spawnChildAndDie', [path, ['ignore', 'ignore', 'ignore', 3, 4, 5]])
    const waiting = die(patient, held)
    const answer = failure(waiting.result)
    try {
      await until('its child runs', () => held.lines.length === 1)
      expect(await failure(die(hasty, left).result)).toMatchObject({ name: 'WorkerLostError', accepted: true })
      expect(await hasty.run('echo', ['next'])).toBe('next')
      expect(waiting.state).toBe('accepted')
    } finally {
      for (const grandchild of [...held.lines, ...left.lines]) process.kill(Number(grandchild), 'SIGKILL')
    }
    expect(await answer).toMatchObject({ name: 'WorkerLostError', accepted: true })
  })
})
