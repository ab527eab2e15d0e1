import { describe, expect, it } from 'vitest'
import { allUp, startPool } from '../fixtures/pools.js'
import { Journal, Latch, until, within } from '../fixtures/support.js'
import { nothingTakenBack } from './dispatch.js'

describe('dispatch', () => {
  nothingTakenBack(['fair'])

  it('adaptive takes them back when the long job never yields too', async () => {
    const pool = await startPool({ workers: 2 })
    await allUp(pool, 2)
    for (let round = 0; round < 5; round += 1) await Promise.all(Array.from({ length: 100 }, () => pool.run('mark', [undefined, 1])))
    for (let round = 0; round < 20; round += 1) await pool.run('markAndSpin', [undefined, 1, 0])
    const jobs = []
    let long: ReturnType<typeof pool.submit> | undefined
    for (let index = 0; index < 100; index += 1) {
      if (index === 30) long = pool.submit('markAndSpin', [undefined, 'long', 8_000])
      jobs.push(pool.submit('mark', [undefined, index]))
    }
    await within(Promise.all(jobs.map((job) => job.result)), 6_000, 'a short job behind the long one')
    expect(long!.state).toBe('accepted')
    long!.cancel()
  })

  it('spreads jobs over the workers', async () => {
    const pool = await startPool({ workers: 2 })
    await allUp(pool, 2)
    const journal = new Journal()
    const latch = new Latch()
    const jobs = [1, 2].map((id) => pool.run('hold', [latch.path, journal.path, id]))
    await until('both run at once', () => journal.lines.length === 2)
    latch.open()
    await Promise.all(jobs)
  })
})

describe('broadcast', () => {
  it('runs once for each slot during a rolling restart: a successor answers for the worker that it replaces', async () => {
    const pool = await startPool({ workers: 2 })
    await allUp(pool, 2)
    const journal = new Journal()
    const latch = new Latch()
    const held = [1, 2].map((id) => pool.submit('hold', [latch.path, journal.path, id]))
    await until('both hold', () => journal.lines.length === 2)
    const restarted = pool.restart()
    await until('the first successor is there', () => pool.stats().workers.length === 3)
    const answers = pool.broadcast('pid', [])
    latch.open()
    const pids = (await within(answers, 10_000, 'broadcast()')) as number[]
    expect(pids).toHaveLength(2)
    expect(new Set(pids).size).toBe(2)
    await Promise.all([restarted, ...held.map((job) => job.result)])
  })

  it('asks no worker twice when several die at once: each replacement answers for one', async () => {
    const pool = await startPool({ workers: 4 })
    const pids = await allUp(pool, 4)
    const journal = new Journal()
    const latch = new Latch()
    const held = pids.map((id) => pool.submit('hold', [latch.path, journal.path, id]))
    await until('all hold', () => journal.lines.length === 4)
    const answers = pool.broadcast('pid', [])
    for (const pid of pids.slice(1)) process.kill(pid, 'SIGKILL')
    latch.open()
    const answered = (await within(answers, 20_000, 'broadcast()')) as number[]
    expect(answered).toHaveLength(4)
    expect(new Set(answered).size).toBe(4)
    expect(answered.filter((pid) => pids.includes(pid))).toEqual([pids[0]])
    await Promise.allSettled(held.map((job) => job.result))
  })

  it('with retryLost runs again in a worker that has not run it', async () => {
    const pool = await startPool({ workers: 3 })
    const pids = await allUp(pool, 3)
    const journal = new Journal()
    const latch = new Latch()
    const answers = pool.broadcast('shortUnless', [latch.path, journal.path], { retryLost: 1 })
    await until('all run', () => journal.lines.length === 3)
    for (const pid of pids.slice(1)) process.kill(pid, 'SIGKILL')
    await until('two run again', () => journal.lines.length === 5)
    latch.open()
    const answered = (await within(answers, 20_000, 'broadcast()')) as number[]
    expect(new Set(answered).size).toBe(3)
    expect(answered.filter((pid) => pids.includes(pid))).toEqual([pids[0]])
  })

  it('asks no worker twice while workers are resized, ended and restarted', async () => {
    const pool = await startPool({ workers: 3 })
    const rounds: Promise<unknown>[] = []
    const answered: unknown[][] = []
    for (let round = 0; round < 6; round += 1) {
      rounds.push(pool.broadcast('pid', []).then((pids) => answered.push(pids)))
      const worker = pool.stats().workers.find(({ pid }) => pid !== undefined)
      if (worker !== undefined) pool.end(worker.id, 'a test')
      if (round === 2) rounds.push(pool.restart())
      pool.resize(1 + (round % 4))
      rounds.push(pool.broadcast('pid', []).then((pids) => answered.push(pids)))
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    await within(Promise.allSettled(rounds), 30_000, 'the broadcasts')
    expect(answered.length).toBeGreaterThan(0)
    for (const pids of answered) expect(new Set(pids).size).toBe(pids.length)
  })
})
