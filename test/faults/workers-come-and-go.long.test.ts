import { describe, expect, it } from 'vitest'
import { allUp, fixture, pidOf, startPool } from '../fixtures/pools.js'
import { failure, gone, Latch, until } from '../fixtures/support.js'

const MB = 1024 * 1024

describe('recycling', () => {
  it('by age takes place at each round of maintenance without any other event', async () => {
    const pool = await startPool({ maxAgePerWorker: 300, heartbeatInterval: 30_000, heartbeatTimeout: 90_000, maintainInterval: 200 })
    // Before the first round of the default, 5 s.
    await gone([await pidOf(pool)], 4_500)
  })

  it('by memory spares a worker that is over the limit before its first job, and logs a warning', async () => {
    const warned: unknown[] = []
    const quiet = () => {}
    const logger = { trace: quiet, debug: quiet, info: quiet, warn: (fields: unknown) => warned.push(fields), error: quiet }
    const pool = await startPool({ workers: 2, maxMemoryPerWorker: 33 * MB, hardMemoryLimit: 4_000 * MB, heartbeatInterval: 50, logger: logger as never })
    await allUp(pool, 2)
    // Ten heartbeats, each of which checks the memory.
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(pool.stats().totals.workersStarted).toBe(2)
    expect(warned).toEqual([expect.objectContaining({ maxMemoryPerWorker: 33 * MB })])
    const first = await pidOf(pool)
    await gone([first])
  })

  it('does not take place without a reason', async () => {
    const pool = await startPool({ maintainInterval: 100, heartbeatInterval: 100 })
    const first = await pidOf(pool)
    await pool.run('leakBytes', [200 * MB])
    for (let index = 0; index < 50; index += 1) await pool.run('sleep', [10])
    expect(await pidOf(pool)).toBe(first)
  })
})

describe('hardMemoryLimit', () => {
  it('is 1.5 x maxMemoryPerWorker by default', async () => {
    const pool = await startPool({ maxMemoryPerWorker: 160 * MB, heartbeatInterval: 50 })
    expect(await failure(pool.run('leakAndHang', [300 * MB]))).toMatchObject({ name: 'MemoryLimitError', limit: 240 * MB })
  })
})

describe('autoscaling', () => {
  it('keeps idle workers for keepAlive', async () => {
    const pool = await startPool({ workers: { min: 1, max: 2 }, keepAlive: 60_000, maintainInterval: 50 })
    const latch = new Latch()
    const holders = [1, 2].map(() => pool.submit('hold', [latch.path]))
    await until('both run', () => holders.every((job) => job.accepted))
    latch.open()
    await Promise.all(holders.map((job) => job.result))
    for (let round = 0; round < 20; round += 1) await pool.run('sleep', [30])
    expect(pool.stats().workers).toHaveLength(2)
  })
})

it('starts four workers when the pool is asked for four', async () => {
  const pool = await startPool({ workers: 4, tasks: fixture('tasks.js') })
  expect(new Set(await allUp(pool, 4)).size).toBe(4)
})
