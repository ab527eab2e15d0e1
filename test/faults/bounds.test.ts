import { appendFileSync } from 'node:fs'
import { QueueFullError } from 'prefork'
import { describe, expect, it, onTestFinished } from 'vitest'
import { allUp, pidOf, startPool, upPids } from '../fixtures/pools.js'
import { childrenOf, failure, gone, Journal, Latch, until, within } from '../fixtures/support.js'

/** Counts the living children of the host until stopped. */
const censusOf = () => {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, childrenOf(process.pid).filter((child) => !child.zombie).length)
  }, 5)
  return () => {
    clearInterval(timer)
    return most
  }
}

describe('promise 11: jobs running at once', () => {
  it.each([
    [1, 1],
    [2, 1],
    [2, 3],
  ])('are exactly workers x concurrency under load: %i x %i', async (workers, concurrency) => {
    const pool = await startPool({ workers, concurrency })
    await allUp(pool, workers)
    const journal = new Journal()
    const latch = new Latch()
    const jobs = Array.from({ length: workers * concurrency + 3 }, (_, index) => pool.run('hold', [latch.path, journal.path, index]))
    await until('every slot is taken', () => journal.lines.length === workers * concurrency && pool.stats().running === workers * concurrency)
    expect(pool.stats()).toMatchObject({ running: workers * concurrency, queued: 3 })
    latch.open()
    await Promise.all(jobs)
    expect(journal.overlap).toBe(workers * concurrency)
  })

  it('never exceed the bound, nor do processes exceed max + spare + 1, while workers are killed, replaced, restarted and resized', async () => {
    const pool = await startPool({ workers: 2, concurrency: 2, spare: 1 })
    const census = censusOf()
    const journal = new Journal()
    let over = false
    const pump = (async () => {
      let submitted = 0
      const settled: Promise<unknown>[] = []
      while (!over) {
        submitted += 1
        settled.push(pool.run('overlapIn', [journal.path, submitted, 15], { retryLost: 9 }).catch(() => {}))
        if (settled.length >= 12) await settled.shift()
        // A pool that refuses everything must not block the event loop here.
        if (submitted % 10 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      await Promise.all(settled)
    })()
    onTestFinished(() => {
      over = true
      census()
    })
    for (let round = 0; round < 3; round += 1) {
      const [victim] = upPids(pool)
      if (victim) {
        appendFileSync(journal.path, `x ${victim}\n`)
        process.kill(victim, 'SIGKILL')
      }
      await until('two are up again', () => upPids(pool).length === 2)
      await within(Promise.resolve(pool.restart()), 15_000, 'restart()')
      await until('two are up again', () => upPids(pool).length === 2)
    }
    over = true
    await pump
    // Counted by process: a killed worker never writes the end of its jobs.
    const open = new Map<string, Set<string>>()
    const dead = new Set<string>()
    let most = 0
    for (const line of journal.lines) {
      const [what, pid] = line.split(' ') as [string, string]
      if (what === 'x') {
        dead.add(pid)
        open.delete(pid)
      } else if (!dead.has(pid)) {
        const jobs = open.get(pid) ?? new Set()
        if (what.startsWith('+')) jobs.add(what.slice(1))
        else jobs.delete(what.slice(1))
        open.set(pid, jobs)
        most = Math.max(
          most,
          [...open.values()].reduce((sum, each) => sum + each.size, 0),
        )
      }
    }
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(4)
    const processes = census()
    expect(processes).toBeGreaterThanOrEqual(3)
    expect(processes).toBeLessThanOrEqual(4)
  })
})

describe('promise 11: maxQueue', () => {
  it('bounds the jobs that are submitted and not accepted; ready() resolves when there is room', async () => {
    const pool = await startPool({ maxQueue: 3 })
    const journal = new Journal()
    const latch = new Latch()
    await within(pool.ready(), 1_000, 'ready()')
    const holder = pool.submit('hold', [latch.path, journal.path, 'holder'])
    await until('it runs', () => holder.accepted)
    const queued = [1, 2, 3].map((value) => pool.run('echo', [value]))
    const error = await failure(pool.run('echo', [4]))
    expect(error).toBeInstanceOf(QueueFullError)
    expect(error).toMatchObject({ code: 'ERR_PREFORK_QUEUE_FULL' })
    const refused = pool.submit('echo', [5])
    expect(await failure(refused.result)).toBeInstanceOf(QueueFullError)
    expect(await refused.began).toBe(false)

    let ready = false
    const room = pool.ready().then(() => {
      ready = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(ready).toBe(false)
    latch.open()
    await within(room, 20_000, 'ready()')
    expect(await pool.run('echo', [6])).toBe(6)
    expect(await Promise.all(queued)).toEqual([1, 2, 3])
    await holder.result
  })

  it('lets ready() resolve when a queued job is cancelled', async () => {
    const pool = await startPool({ maxQueue: 1, dispatch: 'fair' })
    const latch = new Latch()
    const holder = pool.submit('hold', [latch.path])
    await until('it runs', () => holder.accepted)
    const queued = pool.submit('echo', [1])
    const room = pool.ready()
    queued.cancel()
    await within(room, 20_000, 'ready()')
  })

  it('lets ready() reject when the pool closes', async () => {
    const pool = await startPool({ maxQueue: 1 })
    const latch = new Latch()
    const holder = pool.submit('hold', [latch.path])
    await until('it runs', () => holder.accepted)
    pool.run('echo', [1]).catch(() => {})
    const room = failure(pool.ready())
    const closed = pool.close()
    expect(await room).toMatchObject({ name: 'PoolClosedError' })
    latch.open()
    await closed
    expect(await failure(pool.ready())).toMatchObject({ name: 'PoolClosedError' })
  })

  it('is unbounded by default', async () => {
    const pool = await startPool()
    const jobs = Array.from({ length: 20_000 }, (_, index) => pool.run('echo', [index]))
    expect(await within(Promise.all(jobs), 20_000)).toHaveLength(20_000)
  })
})

describe('promise 11: recycling by jobs', () => {
  it.each(['fair', 'fast', 'adaptive'] as const)('no worker does more than maxJobsPerWorker, dispatch %s', async (dispatch) => {
    const pool = await startPool({ workers: 2, concurrency: 2, maxJobsPerWorker: 6, dispatch })
    const journal = new Journal()
    const pids = await Promise.all(Array.from({ length: 40 }, () => pool.run('markPid', [journal.path])))
    const done = new Map<unknown, number>()
    for (const pid of pids) done.set(pid, (done.get(pid) ?? 0) + 1)
    expect(Math.max(...done.values())).toBeLessThanOrEqual(6)
    expect(done.size).toBeGreaterThanOrEqual(7)
    expect(journal.lines).toHaveLength(40)
    expect(pool.stats().totals.workersRecycled).toBeGreaterThanOrEqual(5)
    expect(pool.stats().totals.lost).toBe(0)
  })

  it('gives the new worker its first job after the old one has handed over its slot', async () => {
    const pool = await startPool({ workers: 1, maxJobsPerWorker: 1 })
    const latch = new Latch()
    const journal = new Journal()
    let ups = 0
    pool.on('workerUp', () => ups++)
    const holder = pool.submit('hold', [latch.path, journal.path, 'holder'])
    const next = pool.submit('mark', [journal.path, 'next'])
    await until('the successor is up', () => ups > 0)
    // Time in which a successor that does not wait would begin.
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(next.accepted).toBe(false)
    expect(pool.stats().running).toBe(1)
    latch.open()
    await Promise.all([holder.result, next.result])
  })

  it('leaves the running job in the old worker while the new one works', async () => {
    const pool = await startPool({ concurrency: 2, maxJobsPerWorker: 2 })
    const latch = new Latch()
    const journal = new Journal()
    const old = await pidOf(pool)
    const holder = pool.submit('hold', [latch.path, journal.path, 'holder'])
    await journal.seen('+holder')
    expect(await within(pidOf(pool), 10_000)).not.toBe(old)
    expect(holder.state).toBe('accepted')
    latch.open()
    expect(await holder.result).toBe('holder')
    await gone([old])
  })
})
