import { expect, it } from 'vitest'
import { sharedPool } from '../fixtures/pools.js'
import { until } from '../fixtures/support.js'

const pool = sharedPool({ workers: 1, heartbeatInterval: 50 })
const unwatched = sharedPool({ workers: 1, heartbeatInterval: 50, watchdog: false })

it.each([
  ['its watchdog', pool],
  ['its main thread, without a watchdog', unwatched],
])('the CPU time of a worker is told by %s', async (_what, shared) => {
  const { pool: taken } = shared
  const cpu = (): number => taken.stats().workers[0]!.cpu ?? 0
  await until('it is known', () => cpu() > 0)
  const before = cpu()
  await taken.run('spinFor', [300])
  await until('it has grown', () => cpu() >= before + 200)
  const { cpu: used, uptime } = taken.stats().workers[0]!
  expect(used).toBeLessThan(8 * uptime)
})
