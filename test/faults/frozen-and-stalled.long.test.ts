import { describe, expect, it } from 'vitest'
import { fixture, pidOf, startPool } from '../fixtures/pools.js'
import { blockHost, Journal, until } from '../fixtures/support.js'

const QUICK = { heartbeatInterval: 100, heartbeatTimeout: 800 } as const

describe('promises 3, 8: a busy worker', () => {
  it('sends heartbeats from its watchdog during a loop longer than heartbeatTimeout', async () => {
    const pool = await startPool({ ...QUICK, heartbeatTimeout: 1_500 })
    const pid = await pidOf(pool)
    const job = pool.submit('spinFor', [3_500])
    await until('a heartbeat reports the stall', () => (pool.stats().workers[0]?.stalled ?? 0) > 300)
    expect(await job.result).toBe(3_500)
    expect(await pidOf(pool)).toBe(pid)
  })

  it('is not killed when the host blocks its event loop repeatedly, without a job', async () => {
    const pool = await startPool(QUICK)
    const pid = await pidOf(pool)
    for (let round = 0; round < 4; round += 1) {
      blockHost(900)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(await pidOf(pool)).toBe(pid)
  })

  it('is not killed while it starts: the stall of the host does not count', async () => {
    const starts = new Journal()
    const env = { ...process.env, PREFORK_TEST_STARTS: starts.path, PREFORK_TEST_LOAD_MS: '100' }
    const creation = startPool({ tasks: fixture('starts/slow.js'), aliveTimeout: 600, env })
    await starts.seen(await until('it loads', () => starts.lines[0]))
    blockHost(2_500)
    const pool = await creation
    expect(await pidOf(pool)).toBe(Number(starts.lines[0]))
    expect(starts.lines).toHaveLength(1)
  })
})
