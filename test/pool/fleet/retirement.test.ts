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

/** A worker that runs one job of these limits and is to leave. */
const setUp = (options: Partial<PoolOptions>, spec: { softLimit?: number; hardLimit?: number } = {}) => {
  const clock = new FakeClock()
  const state = new PoolState(new Hub(clock), read(options), new EventHub(undefined))
  const said: string[] = []
  const books = { running: new Set([{ spec: { softLimit: 0, hardLimit: 0, ...spec } }]), inFlight: 1 }
  const worker = {
    isUp: true,
    state: 'up',
    jobs: books,
    pinned: [],
    isolatedRetries: [],
    recalls: 0,
    recall: () => {},
    quit: () => said.push('asked to leave'),
    killFor: () => said.push('ended'),
  }
  new Retirement(state, () => {}).retire(worker as unknown as PoolWorker, 'recycle')
  return { clock, said, books }
}

it.each([
  ['a minute where it has no limit', {}, {}, MINUTE],
  ['drainTimeout', { drainTimeout: 90_000 }, {}, 90_000],
  ['its hard limit', {}, { hardLimit: 10 * MINUTE, softLimit: MINUTE }, 10 * MINUTE],
  ['its soft limit and the graces until it is ended', {}, { softLimit: 5 * MINUTE }, 5 * MINUTE + 5_000],
])('a job has %s, and then its worker is ended', (_, options, limits, time) => {
  const { clock, said } = setUp(options, limits)
  clock.advance(time - 1)
  expect(said).toEqual([])
  clock.advance(1)
  expect(said).toEqual(['ended'])
})

it('a job has as long as it takes, with drainTimeout Infinity; its worker leaves when it has ended, whether a successor comes or not', () => {
  const { clock, said, books } = setUp({ drainTimeout: NEVER })
  clock.advance(1_000 * MINUTE)
  expect(said).toEqual([])
  books.inFlight = 0
  clock.advance(MINUTE)
  expect(said).toEqual(['asked to leave'])
})
