import { expect, it } from 'vitest'
import { Hub } from '../../../src/hub/index.js'
import { EventHub } from '../../../src/pool/events.js'
import { Retirement } from '../../../src/pool/fleet/retirement.js'
import { PoolState } from '../../../src/pool/pool-state.js'
import type { PoolOptions } from '../../../src/pool/types.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'
import { FakeClock } from '../../hub/fakes.js'
import { read } from '../option-help.js'

const MINUTE = 60_000
const NEVER = Number.POSITIVE_INFINITY

/** A worker that runs one job with these limits, and is retired. */
const setUp = (options: Partial<PoolOptions>, spec: { softLimit?: number; hardLimit?: number } = {}) => {
  const clock = new FakeClock()
  const state = new PoolState(new Hub(clock), read(options), new EventHub(undefined))
  const calls: string[] = []
  const worker = {
    isUp: true,
    jobs: { running: new Set([{ limits: { softLimit: 0, hardLimit: 0, ...spec } }]) },
    holdsNothing: false,
    drain: () => {},
    drainUntil: () => {},
    recall: () => {},
    quit: () => calls.push('quit'),
    killFor: () => calls.push('killed'),
  }
  new Retirement(state).retire(worker as unknown as PoolWorker, 'recycle')
  return { clock, calls, worker }
}

it.each([
  ['a minute where it has no limit', {}, {}, MINUTE],
  ['drainTimeout', { drainTimeout: 90_000 }, {}, 90_000],
  ['its hard limit', {}, { hardLimit: 10 * MINUTE, softLimit: MINUTE }, 10 * MINUTE],
  ['its soft limit and the grace until it is killed', {}, { softLimit: 5 * MINUTE }, 5 * MINUTE + 5_000],
])('a job has %s, and then its worker is killed', (_, options, limits, time) => {
  const { clock, calls } = setUp(options, limits)
  clock.advance(time - 1)
  expect(calls).toEqual([])
  clock.advance(1)
  expect(calls).toEqual(['killed'])
})

it('a job has as long as it takes, with drainTimeout Infinity; its worker quits when it has ended, with or without a successor', () => {
  const { clock, calls, worker } = setUp({ drainTimeout: NEVER })
  clock.advance(1_000 * MINUTE)
  expect(calls).toEqual([])
  worker.holdsNothing = true
  clock.advance(MINUTE)
  expect(calls).toEqual(['quit'])
})
