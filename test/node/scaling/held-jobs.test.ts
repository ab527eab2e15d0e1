import { expect, it } from 'vitest'
import type { QueueBacklog } from '../../../src/node/broker.js'
import { HeldJobs } from '../../../src/node/scaling/held-jobs.js'

const QUEUE: QueueBacklog = { queue: 'q', ready: 0, share: 0.5 }

/** Each call gives one job back. */
const setUp = (count = 1) => {
  const calls: [queue: string, since: number][] = []
  const held = new HeldJobs({
    giveBackHeld: (queue, since) => {
      calls.push([queue, since])
      return count
    },
  })
  return { held, calls }
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

it('what comes to this node again goes back after a pause that doubles', () => {
  const { held, calls } = setUp()
  for (let now = 10_000; now <= 40_000; now += 250) held.giveBack([QUEUE], now)
  expect(calls.map(([, since]) => since + 750)).toEqual([10_000, 11_000, 13_000, 17_000, 25_000])
  // Nothing went back for a minute.
  held.giveBack([QUEUE], 200_000)
  held.giveBack([QUEUE], 201_000)
  expect(calls).toHaveLength(7)
})

it('a look that finds nothing to give back begins no pause', () => {
  const { held, calls } = setUp(0)
  held.giveBack([QUEUE], 10_000)
  held.giveBack([QUEUE], 10_250)
  expect(calls).toHaveLength(2)
})
