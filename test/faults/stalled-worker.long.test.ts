import { describe, expect, it } from 'vitest'
import { fixture, pidOf, startPool } from '../fixtures/pools.js'
import { failure, within } from '../fixtures/support.js'
import { closeEnds, QUICK, stall, stallsAreFound } from './stalled-worker.js'

describe('promises 3, 5: a worker whose main thread is held by code that outlived its job', () => {
  stallsAreFound(['immediate', 'microtasks', 'ticks', 'waits'])
  closeEnds(['fair', 'fast', 4])

  it('is replaced, and the replacement answers a broadcast', async () => {
    const pool = await startPool(QUICK)
    const pid = await pidOf(pool)
    await stall(pool, 'waits')
    expect(await within(pool.broadcast('pid', []), 15_000)).not.toEqual([pid])
  })
})

it('promise 8: a worker that stalls before it accepts a job is replaced a bounded number of times', async () => {
  // Short timeouts: it happens ten times.
  const options = { heartbeatInterval: 100, heartbeatTimeout: 600, maintainInterval: 200, cancelGrace: 1_000 }
  const pool = await startPool({ ...options, tasks: fixture('blocked-after-start.js') })
  const error = await failure(pool.run('pid', []), 60_000)
  expect(error).toMatchObject({ name: 'WorkerStartError', message: expect.stringMatching(/1[0-2] starts failed/) })
  await within(pool.close(), 10_000, 'close()')
}, 90_000)
