import { describe, expect, it } from 'vitest'
import { startHost } from '../fixtures/hosts.js'
import { allUp, pidOf, startPool, upPids } from '../fixtures/pools.js'
import { childrenOf, failure, gone, isAlive, Journal, Latch, until } from '../fixtures/support.js'

const launcher = 'process'

/** The launcher process of the only pool that has one: a child of this process that was not there before. */
const launcherAfter = async (earlier: readonly number[]): Promise<number> =>
  until('the launcher process is there', () => childrenOf(process.pid).find(({ pid, zombie }) => !zombie && !earlier.includes(pid))?.pid)

const start = async (options: Parameters<typeof startPool>[0] = {}) => {
  const earlier = childrenOf(process.pid).map(({ pid }) => pid)
  const pool = await startPool({ launcher, ...options })
  return { pool, pid: await launcherAfter(earlier), earlier }
}

// All fault tests pass with a launcher process too: PREFORK_TEST_LAUNCHER=process npx vitest run test/faults
describe('a launcher process', () => {
  it('starts the workers in place of the host, and leaves with the pool', async () => {
    const { pool, pid } = await start({ workers: 2 })
    const workers = await allUp(pool, 2)
    expect(childrenOf(pid).map((child) => child.pid)).toEqual(expect.arrayContaining(workers))
    expect(await pool.run('echo', [1])).toBe(1)
    await pool.close()
    expect(isAlive(pid)).toBe(false)
    await gone(workers)
  })

  it('reports how a worker ended', async () => {
    const { pool } = await start()
    expect(await failure(pool.run('exitWith', [7]))).toMatchObject({ name: 'WorkerLostError', reason: 'exit', exitCode: 7 })
    const [worker] = await allUp(pool, 1)
    process.kill(worker!, 'SIGKILL')
    await until('it is replaced', () => upPids(pool).some((pid) => pid !== worker))
    expect(pool.stats().totals).toMatchObject({ workersStarted: 3 })
  })

  it('may die: what runs goes on, nothing is lost, and another one starts the next workers', async () => {
    const { pool, pid } = await start({ workers: 2 })
    const before = await allUp(pool, 2)
    const journal = new Journal()
    const latch = new Latch()
    const running = ['a', 'b'].map((name) => pool.run('hold', [latch.path, journal.path, name]))
    const queued = pool.run('echo', ['queued'])
    await journal.seen('+a')
    await journal.seen('+b')
    process.kill(pid, 'SIGKILL')
    await gone([pid])
    latch.open()
    await Promise.all(running)
    expect(await queued).toBe('queued')
    expect(upPids(pool)).toEqual(before)
    await pool.restart()
    const after = await allUp(pool, 2)
    expect(after.some((worker) => before.includes(worker))).toBe(false)
    await gone(before)
    expect(await pool.run('echo', [1])).toBe(1)
  })

  it('may die before its workers: each end is still noticed', async () => {
    const { pool, pid } = await start()
    const worker = await pidOf(pool)
    const journal = new Journal()
    const lost = failure(pool.run('markAndSpin', [journal.path, 'job', 60_000]))
    await journal.seen('job')
    process.kill(pid, 'SIGKILL')
    await gone([pid])
    process.kill(worker, 'SIGKILL')
    expect(await lost).toMatchObject({ name: 'WorkerLostError', accepted: true })
    expect(await pidOf(pool)).not.toBe(worker)
  })

  it('may die before a time limit: the worker is killed all the same', async () => {
    const { pool, pid } = await start()
    await pidOf(pool)
    const journal = new Journal()
    const limited = failure(pool.run('markAndSpin', [journal.path, 'job', 60_000], { timeLimit: 500 }))
    await journal.seen('job')
    process.kill(pid, 'SIGKILL')
    expect(await limited).toMatchObject({ name: 'TimeLimitError' })
    expect(await pool.run('echo', [1])).toBe(1)
  })

  it('is not needed by a pool that closes', async () => {
    const { pool, pid } = await start({ workers: 2 })
    const workers = await allUp(pool, 2)
    process.kill(pid, 'SIGKILL')
    await pool.close()
    await gone(workers)
  })

  it('that is killed again and again costs no job', async () => {
    const { pool, earlier } = await start({ workers: 2 })
    const jobs: Promise<unknown>[] = []
    for (let round = 0; round < 5; round += 1) {
      process.kill(await launcherAfter(earlier), 'SIGKILL')
      jobs.push(...Array.from({ length: 50 }, (_, n) => pool.run('echo', [n], { retryLost: 9 })))
      const [victim] = upPids(pool)
      if (victim !== undefined) process.kill(victim, 'SIGKILL')
      await until('two are up', () => upPids(pool).length === 2)
    }
    expect(await Promise.all(jobs)).toHaveLength(250)
  })

  it('leaves with its host, and so do the workers', async () => {
    const host = startHost('exits.js', ['has a job pending'], { PREFORK_TEST_LAUNCHER: launcher })
    const [, ...workers] = await host.reported<number[]>('pids')
    const launchers = childrenOf(host.pid).map(({ pid }) => pid)
    expect(launchers).toHaveLength(1)
    host.child.kill('SIGKILL')
    await gone([...launchers, ...workers], 4_000)
  })
})
