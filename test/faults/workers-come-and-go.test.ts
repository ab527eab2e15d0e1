import { describe, expect, it, onTestFinished } from 'vitest'
import { allUp, pidOf, sharedPool, startPool, upPids } from '../fixtures/pools.js'
import { failure, gone, isAlive, Journal, Latch, until, within } from '../fixtures/support.js'

const MB = 1024 * 1024

describe('the second worker', () => {
  it('comes up although the first job waits for it and never ends', async () => {
    const pool = await startPool({ watchdog: false, workers: 2 })
    const latch = new Latch()
    const job = pool.run('hold', [latch.path, new Journal().path, 1])
    await allUp(pool, 2)
    latch.open()
    await job
  })
})

describe('promises 3, 11: resize', () => {
  it('up runs more jobs at once; down retires the surplus workers after their jobs', async () => {
    const pool = await startPool({ watchdog: false })
    const journal = new Journal()
    const latch = new Latch()
    const holders = [1, 2, 3].map((id) => pool.run('hold', [latch.path, journal.path, id]))
    await journal.seen('+1')
    await pool.resize(3)
    await journal.seen('+3')
    const pids = await until('three are busy', () => {
      const now = upPids(pool)
      return now.length === 3 ? now : undefined
    })
    const shrunk = pool.resize(1)
    latch.open()
    expect(await Promise.all(holders)).toEqual([1, 2, 3])
    await shrunk
    await until('one is left', () => pids.filter(isAlive).length === 1)
    expect(pids).toContain(await pidOf(pool))
    expect(pool.stats().totals.lost).toBe(0)
  })

  it('down while jobs are written ahead runs them on the remaining workers', async () => {
    const pool = await startPool({ watchdog: false, workers: 3, dispatch: 'fast' })
    await allUp(pool, 3)
    const journal = new Journal()
    const jobs = Array.from({ length: 200 }, (_, index) => pool.run('mark', [journal.path, index]))
    pool.resize(1)
    await Promise.all(jobs)
    expect(journal.lines).toHaveLength(200)
    await until('one is left', () => pool.stats().workers.length === 1)
  })

  const shared = sharedPool({ watchdog: false })

  it.each([0, -1, 1.5, Number.NaN, '3'])('refuses %s', async (size) => {
    const { pool } = shared
    expect(await failure((async () => pool.resize(size as number))())).toBeInstanceOf(Error)
    expect(await pool.run('echo', [1])).toBe(1)
  })
})

describe('promises 3, 11: restart', () => {
  it('replaces every worker under load and loses no job', async () => {
    const pool = await startPool({ watchdog: false, workers: 2, concurrency: 2, dispatch: 'fast' })
    const before = await allUp(pool, 2)
    const journal = new Journal()
    let over = false
    const jobs: Promise<unknown>[] = []
    const pump = (async () => {
      while (!over || jobs.length < 100) {
        jobs.push(pool.run('overlap', [journal.path, jobs.length, 3]))
        if (jobs.length % 8 === 0) await jobs.at(-1)
      }
    })()
    pump.catch(() => {})
    onTestFinished(() => {
      over = true
    })
    await within(Promise.resolve(pool.restart()), 20_000, 'restart()')
    await until('all workers are new', () => {
      const now = upPids(pool)
      return now.length === 2 && !now.some((pid) => before.includes(pid))
    })
    over = true
    await pump
    await Promise.all(jobs)
    expect(journal.lines.filter((line) => line.startsWith('+'))).toHaveLength(jobs.length)
    expect(journal.overlap).toBeLessThanOrEqual(4)
    expect(pool.stats().totals).toMatchObject({ lost: 0, failed: 0, succeeded: jobs.length })
    await gone(before)
  })

  it('of an idle pool replaces every process and always keeps one', async () => {
    const pool = await startPool({ watchdog: false })
    const before = await pidOf(pool)
    let least = Number.POSITIVE_INFINITY
    const timer = setInterval(() => {
      least = Math.min(least, upPids(pool).length)
    }, 2)
    await pool.restart()
    clearInterval(timer)
    expect(await pidOf(pool)).not.toBe(before)
    expect(least).toBeGreaterThanOrEqual(1)
    await gone([before])
  })

  it('lets a long job finish in the old worker', async () => {
    const pool = await startPool({ watchdog: false })
    const journal = new Journal()
    const latch = new Latch()
    const holder = pool.submit('hold', [latch.path, journal.path, 'long'])
    await journal.seen('+long')
    const restarted = pool.restart()
    await until('a new worker is up', () => pool.stats().totals.workersStarted === 2)
    expect(holder.state).toBe('accepted')
    latch.open()
    expect(await holder.result).toBe('long')
    await within(Promise.resolve(restarted), 10_000)
  })
})

describe('recycling', () => {
  it('by age retires a worker at maxAge, idle or busy, and its job finishes', async () => {
    const pool = await startPool({ watchdog: false, maxAgePerWorker: 400, heartbeatInterval: 100, maintainInterval: 200 })
    const first = await pidOf(pool)
    expect(await pool.run('sleep', [900, 'long'])).toBe('long')
    await gone([first])
    const second = await pidOf(pool)
    expect(second).not.toBe(first)
    await gone([second])
    expect(pool.stats().totals.workersRecycled).toBeGreaterThanOrEqual(2)
  })

  it('by memory retires a worker over maxMemoryPerWorker after its job', async () => {
    const pool = await startPool({ maxMemoryPerWorker: 180 * MB, hardMemoryLimit: 4_000 * MB, heartbeatInterval: 100 })
    const first = await pidOf(pool)
    expect(await pidOf(pool)).toBe(first)
    expect(await pool.run('leakBytes', [250 * MB])).toBe(first)
    await gone([first])
    expect(await pidOf(pool)).not.toBe(first)
    expect(pool.stats().totals).toMatchObject({ lost: 0, failed: 0 })
    expect(pool.stats().totals.workersRecycled).toBe(1)
  })
})

describe('hardMemoryLimit', () => {
  it('kills the worker during the job: MemoryLimitError, and the next job has a new worker', async () => {
    const pool = await startPool({ hardMemoryLimit: 200 * MB, maxMemoryPerWorker: 190 * MB, heartbeatInterval: 50 })
    const first = await pidOf(pool)
    const job = pool.submit('leakAndHang', [300 * MB])
    const error = (await failure(job.result)) as { limit: number; rss: number }
    expect(error).toMatchObject({ name: 'MemoryLimitError', code: 'ERR_PREFORK_MEMORY_LIMIT', limit: 200 * MB })
    expect(error.rss).toBeGreaterThan(200 * MB)
    expect(job.state).toBe('failed')
    expect(await pidOf(pool)).not.toBe(first)
  })
})

describe('spare', () => {
  it('workers are idle, take no job, and replace a dead worker at once', async () => {
    const pool = await startPool({ watchdog: false, spare: 1 })
    const standBy = await until('a spare is up', () => pool.stats().workers.find((worker) => worker.spare && worker.state === 'up'))
    const pids = new Set(await Promise.all(Array.from({ length: 20 }, () => pidOf(pool))))
    expect(pids.size).toBe(1)
    expect(pids.has(standBy.pid!)).toBe(false)
    process.kill([...pids][0]!, 'SIGKILL')
    expect(await pidOf(pool)).toBe(standBy.pid)
    await until('a new spare is up', () => pool.stats().workers.some((worker) => worker.spare && worker.state === 'up'))
    expect(pool.stats().workers).toHaveLength(2)
  })
})

describe('autoscaling', () => {
  it('grows to max on backlog and shrinks to min after keepAlive', async () => {
    const pool = await startPool({ watchdog: false, workers: { min: 1, max: 3 }, keepAlive: 300, maintainInterval: 100 })
    expect(pool.stats().workers.length).toBeLessThanOrEqual(1)
    const journal = new Journal()
    const latch = new Latch()
    const holders = Array.from({ length: 5 }, (_, index) => pool.run('hold', [latch.path, journal.path, index]))
    await until('three run', () => journal.lines.length === 3)
    expect(pool.stats().workers).toHaveLength(3)
    latch.open()
    await Promise.all(holders)
    // Sooner than the defaults of keepAlive (30 s) and maintainInterval (5 s).
    await until('one is left', () => pool.stats().workers.length === 1, 4_500)
    expect(pool.stats().totals.workersDied).toBe(0)
    expect(await pool.run('echo', [1])).toBe(1)
  })
})
