import { createPool } from 'prefork'
import { describe, expect, it } from 'vitest'
import { allUp, optionsOf, pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { Journal, Latch, until } from '../fixtures/support.js'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

describe('promise 10: signals from outside', () => {
  const shared = sharedPool({ workers: 2 })

  it.each(SIGNALS)('%s does not affect a worker, idle or busy, to the process or to its group', async (signal) => {
    const { pool } = shared
    const pids = await allUp(pool, 2)
    const journal = new Journal()
    const latch = new Latch()
    for (const pid of pids) process.kill(pid, signal)
    const jobs = [pool.submit('hold', [latch.path, journal.path, 1]), pool.submit('holdSync', [latch.path, journal.path, 2])]
    await journal.seen('+1')
    await journal.seen('+2')
    for (const pid of pids) {
      process.kill(pid, signal)
      process.kill(-pid, signal)
    }
    latch.open()
    expect(await Promise.all(jobs.map((job) => job.result))).toEqual([1, 2])
    expect(pids).toContain(await pidOf(pool))
    expect(pool.stats().totals).toMatchObject({ workersStarted: 2, workersDied: 0 })
  })

  it('are handled in the worker: the pool installs no handler in the host', async () => {
    const before = SIGNALS.map((signal) => process.listenerCount(signal))
    const pool = await createPool(optionsOf())
    try {
      expect(SIGNALS.map((signal) => process.listenerCount(signal))).toEqual(before)
    } finally {
      await pool.close()
    }
  })

  it('do not affect a worker that has just started', async () => {
    const pool = await startPool({ workers: 1 })
    await pidOf(pool)
    const started: number[] = []
    pool.on('workerUp', ({ pid }) => {
      started.push(pid)
      for (const signal of SIGNALS) process.kill(pid, signal)
    })
    process.kill(await pidOf(pool), 'SIGKILL')
    await until('a worker is up', () => started.length > 0)
    expect(await pidOf(pool)).toBe(started[0])
  })
})
