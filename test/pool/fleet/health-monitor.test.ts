import { beforeEach, describe, expect, it } from 'vitest'
import { Hub } from '../../../src/hub/index.js'
import type { Fleet } from '../../../src/pool/fleet/fleet.js'
import { HealthMonitor } from '../../../src/pool/fleet/health-monitor.js'
import type { Retirement } from '../../../src/pool/fleet/retirement.js'
import type { PoolState } from '../../../src/pool/pool-state.js'
import { Heartbeats } from '../../../src/pool/worker/health.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'
import { FakeClock } from '../../hub/fakes.js'

const INTERVAL = 1_000
const TIMEOUT = 7_000
const settings = {
  watchdog: true,
  heartbeatInterval: INTERVAL,
  heartbeatTimeout: TIMEOUT,
  maintainInterval: 600_000,
  minWorkers: 1,
  maxWorkers: 1,
}

/** What the health monitor reads of a worker. */
class BeatingWorker {
  alive = true
  upAt = 1
  readonly heartbeats = new Heartbeats(0)
  readonly readers = []
  killedFor: string | undefined
  killFor(reason: string): void {
    this.alive = false
    this.killedFor = reason
  }
}

describe('the silence of workers', () => {
  let clock: FakeClock
  let hub: Hub
  let monitor: HealthMonitor
  let workers: BeatingWorker[]
  beforeEach(() => {
    clock = new FakeClock()
    workers = [new BeatingWorker(), new BeatingWorker()]
    hub = new Hub(clock)
    const pool = { hub, settings, workers: new Map(workers.map((worker, id) => [id, worker as unknown as PoolWorker])) }
    monitor = new HealthMonitor(pool as unknown as PoolState, {} as Fleet, {} as Retirement)
  })

  /** `beats` of all workers but those that are silent, an interval apart. */
  const pass = (beats: number, silent: readonly BeatingWorker[] = []): void => {
    for (let beat = 0; beat < beats; beat++) {
      clock.advance(INTERVAL)
      for (const worker of workers) if (!silent.includes(worker)) worker.heartbeats.received(clock.time)
    }
  }

  it('is not checked for while all heartbeats come', () => {
    pass(60)
    // Two timers stand at the beginning; then one for every four intervals or more.
    expect(clock.timersSet).toBeLessThanOrEqual(2 + 60 / 4)
    expect(workers.map(({ killedFor }) => killedFor)).toEqual([undefined, undefined])
  })

  it.each([0, 1, 2, 3, 4, 5])('is noticed within an interval of the timeout, begun %i intervals in', (beats) => {
    pass(20 + beats)
    const [frozen, other] = workers as [BeatingWorker, BeatingWorker]
    pass(TIMEOUT / INTERVAL - 1, [frozen])
    expect(frozen.killedFor).toBeUndefined()
    pass(2, [frozen])
    expect(frozen.killedFor).toBe('frozen')
    expect(other.killedFor).toBeUndefined()
  })

  it('of all while the whole machine was paused does not count: two intervals are left for a heartbeat', () => {
    pass(20)
    clock.stall(60_000)
    clock.pollUntilQuiet()
    pass(1, workers)
    expect(workers.map(({ killedFor }) => killedFor)).toEqual([undefined, undefined])
    pass(20)
    expect(workers.map(({ killedFor }) => killedFor)).toEqual([undefined, undefined])
  })

  it('is checked for no more once the pool has stopped', () => {
    monitor.stop()
    expect(hub.registered().timers).toBe(0)
  })
})
