import { appendFileSync } from 'node:fs'
import { QueueFullError } from 'prefork'
import { describe, expect, it, onTestFinished } from 'vitest'
import { pidOf, startPool, upPids } from '../fixtures/pools.js'
import { childrenOf, failure, gone, Journal, Latch, until, within } from '../fixtures/support.js'
import { variedOptions } from '../fixtures/varied-options.js'
import { filled, recycled } from './bounds.js'

/** A launcher process starts them in place of the host. */
const livingChildren = (): number[] => {
  const children = childrenOf(process.pid)
  const all = variedOptions.launcher === undefined ? children : children.flatMap(({ pid }) => childrenOf(pid))
  return all.flatMap(({ pid, zombie }) => (zombie ? [] : pid))
}

/** Counts the living children of the host until stopped, but for those of an earlier test file that are about to end. */
const censusOf = (earlier: readonly number[]) => {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, livingChildren().filter((pid) => !earlier.includes(pid)).length)
  }, 5)
  return () => {
    clearInterval(timer)
    return most
  }
}

describe('promise 11: jobs running at once', () => {
  // The others: bounds.long.test.ts.
  filled([[2, 3]])

  it('never exceed the bound, nor do processes exceed max + spare + 1, while workers are killed, replaced, restarted and resized', async () => {
    const earlier = livingChildren()
    const pool = await startPool({ workers: 2, concurrency: 2, spare: 1 })
    const census = censusOf(earlier)
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
    const pool = await startPool({ watchdog: false, maxQueue: 3 })
    const journal = new Journal()
    const latch = new Latch()
    await within(pool.ready(), 10_000, 'ready()')
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
    const pool = await startPool({ watchdog: false, maxQueue: 1, dispatch: 'fair' })
    const latch = new Latch()
    const holder = pool.submit('hold', [latch.path])
    await until('it runs', () => holder.accepted)
    const queued = pool.submit('echo', [1])
    const room = pool.ready()
    queued.cancel()
    await within(room, 20_000, 'ready()')
  })

  it('lets ready() reject when the pool closes', async () => {
    const pool = await startPool({ watchdog: false, maxQueue: 1 })
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
})

describe('promise 11: recycling by jobs', () => {
  // The others: bounds.long.test.ts.
  recycled(['adaptive'])

  it('gives the new worker its first job after the old one has handed over its slot', async () => {
    const pool = await startPool({ watchdog: false, workers: 1, maxJobsPerWorker: 1 })
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
    const pool = await startPool({ watchdog: false, concurrency: 2, maxJobsPerWorker: 2 })
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
