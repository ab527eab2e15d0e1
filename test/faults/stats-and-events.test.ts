import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { PoolEvents } from 'prefork'
import { describe, expect, it } from 'vitest'
import type { JobFollower } from '../../src/pool/jobs/job.js'
import type { Pool } from '../../src/pool/pool.js'
import { allUp, pidOf, startPool } from '../fixtures/pools.js'
import { failure, Journal, Latch, until } from '../fixtures/support.js'

const LATENCY = {
  count: 11,
  mean: expect.any(Number),
  min: expect.any(Number),
  p50: expect.any(Number),
  p90: expect.any(Number),
  p99: expect.any(Number),
  max: expect.any(Number),
}

describe('stats', () => {
  it('report every worker, the totals and the latencies', async () => {
    const pool = await startPool({ workers: 2, heartbeatInterval: 50 })
    const pids = await allUp(pool, 2)
    for (let index = 0; index < 10; index += 1) await pool.run('sleep', [20])
    await failure(pool.run('exitWith', [1]))
    await allUp(pool, 2)
    const stats = pool.stats()
    expect(stats).toMatchObject({
      queued: 0,
      running: 0,
      totals: { submitted: 11, succeeded: 10, failed: 0, cancelled: 0, lost: 1, retried: 0, workersStarted: 3, workersDied: 1, workersRecycled: 0 },
      latency: { wait: LATENCY, run: LATENCY, roundTrip: LATENCY },
    })
    const { p50, p99, min, max, mean } = stats.latency.run
    expect(min).toBeLessThanOrEqual(p50)
    expect(p50).toBeLessThanOrEqual(p99)
    expect(p99).toBeLessThanOrEqual(max * 1.11)
    expect(p50).toBeGreaterThan(15)
    expect(mean).toBeGreaterThan(15)
    expect(stats.writes.total).toBeGreaterThanOrEqual(11)
    const shares = Object.values(stats.writes.shares)
    expect(shares.length).toBeGreaterThanOrEqual(1)
    expect(shares.every((share) => share >= 0 && share <= 1)).toBe(true)
    expect(stats.workers).toHaveLength(2)
    for (const worker of stats.workers) {
      expect(worker).toMatchObject({ state: 'up', spare: false, job: undefined, running: 0, writtenAhead: 0 })
      expect(worker.rss).toBeGreaterThan(20_000_000)
      expect(worker.uptime).toBeGreaterThan(0)
    }
    expect(new Set(stats.workers.map((worker) => worker.id)).size).toBe(2)
    expect(stats.workers.filter((worker) => pids.includes(worker.pid!))).toHaveLength(1)
  })

  it('report what a worker does', async () => {
    const pool = await startPool({ concurrency: 2 })
    const latch = new Latch()
    const jobs = [1, 2].map((id) => pool.submit('hold', [latch.path, undefined, id], { id: `job ${id}` }))
    await until('both run', () => jobs.every((job) => job.accepted))
    const [worker] = pool.stats().workers
    expect(worker).toMatchObject({ state: 'busy', running: 2, job: { id: 'job 1', name: 'hold', attempt: 1, age: expect.any(Number) } })
    expect(worker!.bytesWritten).toBeGreaterThan(0)
    latch.open()
    await Promise.all(jobs.map((job) => job.result))
    expect(pool.stats().workers[0]).toMatchObject({ jobs: 2, running: 0, job: undefined })
  })
})

describe('events', () => {
  it('report the lifecycle of workers and jobs, on the pool and on the diagnostics channels', async () => {
    const names = ['workerStart', 'workerUp', 'workerExit', 'jobSubmitted', 'jobAccepted', 'jobSettled', 'jobRetried'] as const satisfies (keyof PoolEvents)[]
    const published: [string, unknown][] = []
    const listeners = names.map((name) => {
      const listener = (message: unknown): void => {
        published.push([name, message])
      }
      subscribe(`prefork:${name}`, listener)
      return () => unsubscribe(`prefork:${name}`, listener)
    })
    try {
      const pool = await startPool()
      const seen: [string, unknown][] = []
      for (const name of names) pool.on(name, (event) => seen.push([name, event]))
      const pid = await pidOf(pool)
      expect(published.slice(0, 2)).toMatchObject([
        ['workerStart', { worker: expect.any(Number) }],
        ['workerUp', { pid, ms: expect.any(Number) }],
      ])
      expect(seen.map(([name]) => name)).toEqual(['jobSubmitted', 'jobAccepted', 'jobSettled'])
      seen.length = 0
      published.length = 0
      const journal = new Journal()
      await pool.run('dieOnAttempts', [1, journal.path, 'x'], { id: 'fated', retryLost: 1 })
      const order = seen.map(([name]) => name).filter((name) => name.startsWith('job'))
      expect(order).toEqual(['jobSubmitted', 'jobAccepted', 'jobRetried', 'jobAccepted', 'jobSettled'])
      expect(Object.fromEntries(seen)).toMatchObject({
        workerExit: { pid, exitCode: null, signal: 'SIGKILL', expected: false, jobs: ['fated'] },
        jobAccepted: { id: 'fated', name: 'dieOnAttempts', attempt: 2 },
        jobRetried: { id: 'fated', attempt: 2 },
        jobSettled: { id: 'fated', name: 'dieOnAttempts', state: 'succeeded', ms: expect.any(Number) },
      })
      expect(published.map(([name]) => name)).toEqual(seen.map(([name]) => name))
      const exits: unknown[] = []
      pool.on('workerExit', (event) => exits.push(event))
      await pool.close()
      expect(exits).toMatchObject([{ expected: true, jobs: [] }])
    } finally {
      for (const stop of listeners) stop()
    }
  })

  it('keep their order when a listener ends the job at its acceptance', async () => {
    const pool = await startPool()
    const seen: string[] = []
    for (const name of ['jobAccepted', 'jobSettled'] as const) pool.on(name, () => seen.push(name))
    const ended = new Promise((resolve) => {
      const follower: JobFollower = { began: (job) => job.cancel(), succeeded: resolve, ended: resolve }
      ;(pool as unknown as Pick<Pool, 'submitFollowed'>).submitFollowed('sleep', [60_000], {}, follower)
    })
    await ended
    expect(seen).toEqual(['jobAccepted', 'jobSettled'])
  })

  it('stop when the listener is removed', async () => {
    const pool = await startPool()
    const seen: unknown[] = []
    const listener = (event: unknown): void => {
      seen.push(event)
    }
    pool.on('jobSettled', listener)
    await pidOf(pool)
    pool.off('jobSettled', listener)
    await pidOf(pool)
    expect(seen).toHaveLength(1)
  })

  it('affect no job when a listener throws', async () => {
    const pool = await startPool()
    const thrown: unknown[] = []
    const note = (error: unknown): void => {
      thrown.push(error)
    }
    process.on('uncaughtException', note)
    try {
      pool.on('jobAccepted', () => {
        throw new Error('a listener failed')
      })
      expect(await Promise.all([1, 2, 3].map((value) => pool.run('echo', [value])))).toEqual([1, 2, 3])
    } finally {
      await new Promise((resolve) => setImmediate(resolve))
      process.off('uncaughtException', note)
    }
  })
})
