import { expect, it } from 'vitest'
import { fixture, startPool } from '../fixtures/pools.js'
import { failure, within } from '../fixtures/support.js'

it('promise 8: a worker that stalls before it accepts a job is replaced a bounded number of times', async () => {
  // Short timeouts: it happens ten times.
  const options = { heartbeatInterval: 100, heartbeatTimeout: 600, maintainInterval: 200, cancelGrace: 1_000 }
  const pool = await startPool({ ...options, tasks: fixture('blocked-after-start.js') })
  const error = await failure(pool.run('pid', []), 60_000)
  expect(error).toMatchObject({ name: 'WorkerStartError', message: expect.stringMatching(/1[0-2] starts failed/) })
  await within(pool.close(), 10_000, 'close()')
}, 90_000)
