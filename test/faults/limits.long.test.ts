import { describe, expect, it } from 'vitest'
import { fixture, pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { blockHost, failure, until, within } from '../fixtures/support.js'

describe('promise 5: time limits', () => {
  it("of defineTask override the pool's, and those of run override both", async () => {
    const pool = await startPool({ tasks: fixture('hooks.js'), timeLimit: 60_000 })
    expect(await failure(pool.run('limited', [30_000]))).toMatchObject({ name: 'TimeLimitError', limit: 150 })
    expect(await pool.run('limited', [400], { timeLimit: 30_000 })).toBe('done')
    expect(await pool.run('softLimited', [])).toBe('SoftTimeLimitError')
    const tight = await startPool({ tasks: fixture('hooks.js'), timeLimit: 30 })
    expect(await tight.run('limited', [80])).toBe('done')
    expect(await failure(tight.run('limited', [30_000], { timeLimit: 40 }))).toMatchObject({ limit: 40 })
  })
})

describe('promise 5: without a watchdog', () => {
  const options = { watchdog: false, cancelGrace: 150 } as const
  const shared = sharedPool(options)

  it('an answer that waited while the host was blocked counts', async () => {
    const { pool } = shared
    const job = pool.submit('sleep', [100, 'answered'], { timeLimit: 600 })
    await until('it runs', () => job.accepted)
    blockHost(2_000)
    expect(await within(job.result, 5_000)).toBe('answered')
  })

  it('a worker whose main thread is blocked for long does not count as frozen', async () => {
    const pool = await startPool({ ...options, heartbeatInterval: 100, heartbeatTimeout: 1_200 })
    const pid = await pidOf(pool)
    expect(await pool.run('waitFor', [3_000])).toBe(3_000)
    expect(await pidOf(pool)).toBe(pid)
  })
})
