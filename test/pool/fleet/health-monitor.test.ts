import { beforeEach, describe, expect, it } from 'vitest'
import { Hub } from '../../../src/hub/index.js'
import type { Fleet } from '../../../src/pool/fleet/fleet.js'
import { HealthMonitor } from '../../../src/pool/fleet/health-monitor.js'
import type { PoolState } from '../../../src/pool/pool-state.js'
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

/** What the keeper sees of a worker. */
class Heard {
  alive = true
  upAt = 1
  lastHeardAt = 0
  readonly readers = []
  verdict: string | undefined
  killFor(reason: string): void {
    this.alive = false
    this.verdict = reason
  }
}

describe('silence of workers', () => {
  let clock: FakeClock
  let hub: Hub
  let keeper: HealthMonitor
  let workers: Heard[]
  beforeEach(() => {
    clock = new FakeClock()
    workers = [new Heard(), new Heard()]
    hub = new Hub(clock)
    const pool = { hub, settings, workers: new Map(workers.map((worker, id) => [id, worker as unknown as PoolWorker])) }
    keeper = new HealthMonitor(pool as unknown as PoolState, {} as Fleet)
  })

  /** `beats` of all workers but those that are silent, an interval apart. */
  const pass = (beats: number, silent: readonly Heard[] = []): void => {
    for (let beat = 0; beat < beats; beat++) {
      clock.advance(INTERVAL)
      for (const worker of workers) if (!silent.includes(worker)) worker.lastHeardAt = clock.time
    }
  }

  it('is not looked for while all are heard', () => {
    pass(60)
    // Two timers stand at the beginning; then one for every four intervals or more.
    expect(clock.timersSet).toBeLessThanOrEqual(2 + 60 / 4)
    expect(workers.map(({ verdict }) => verdict)).toEqual([undefined, undefined])
  })

  it.each([0, 1, 2, 3, 4, 5])('is noticed within an interval of the timeout, begun %i intervals in', (heard) => {
    pass(20 + heard)
    const [frozen, other] = workers as [Heard, Heard]
    pass(TIMEOUT / INTERVAL - 1, [frozen])
    expect(frozen.verdict).toBeUndefined()
    pass(2, [frozen])
    expect(frozen.verdict).toBe('frozen')
    expect(other.verdict).toBeUndefined()
  })

  it('of all while everything stood still is none: two intervals are left for them to speak', () => {
    pass(20)
    clock.stall(60_000)
    clock.pollUntilQuiet()
    pass(1, workers)
    expect(workers.map(({ verdict }) => verdict)).toEqual([undefined, undefined])
    pass(20)
    expect(workers.map(({ verdict }) => verdict)).toEqual([undefined, undefined])
  })

  it('is looked for no more once the pool has stopped', () => {
    keeper.stop()
    expect(hub.registered().timers).toBe(0)
  })
})
