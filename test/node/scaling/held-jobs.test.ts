import { expect, it } from 'vitest'
import type { QueueBacklog } from '../../../src/node/broker.js'
import { HeldJobs } from '../../../src/node/scaling/held-jobs.js'

const QUEUE: QueueBacklog = { queue: 'q', ready: 0, share: 0.5 }

/** Each call gives these jobs back: by default one that was not here before. */
const setUp = (jobsOf: (call: number) => string[] = (call) => [`job ${call}`]) => {
  const calls: [queue: string, since: number][] = []
  const held = new HeldJobs({ giveBackHeld: (queue, since) => jobsOf(calls.push([queue, since])) })
  /** The times of the calls, of a node that looks each 250 ms. */
  const look = (from: number, to: number): number[] => {
    calls.length = 0
    for (let now = from; now <= to; now += 250) held.giveBack([QUEUE], now)
    return calls.map(([, since]) => since + 750)
  }
  return { held, calls, look }
}

it('what has waited for three quarters of a second goes back', () => {
  const { held, calls } = setUp()
  expect(held.giveBack([QUEUE, { ...QUEUE, queue: 'r', share: undefined }], 10_000)).toBe(2)
  expect(calls).toEqual([
    ['q', 9_250],
    ['r', 9_250],
  ])
})

it.each<[string, Partial<QueueBacklog>]>([
  ['the queue has jobs for the other nodes', { ready: 1 }],
  ['there is no other node', { share: 1 }],
])('nothing goes back where %s', (_what, about) => {
  const { held, calls } = setUp()
  expect(held.giveBack([{ ...QUEUE, ...about }], 10_000)).toBe(0)
  expect(calls).toEqual([])
})

it('jobs that were not here before go back at any look', () => {
  expect(setUp().look(10_000, 10_500)).toEqual([10_000, 10_250, 10_500])
})

it('the pause doubles while a job comes to this node again', () => {
  const { look } = setUp((call) => (call < 100 ? ['the same', `job ${call}`] : ['another']))
  expect(look(10_000, 60_000)).toEqual([10_000, 10_250, 11_250, 13_250, 17_250, 25_250, 41_250])
})

it('a look that finds nothing to give back begins no pause', () => {
  expect(setUp(() => []).look(10_000, 10_500)).toEqual([10_000, 10_250, 10_500])
})
