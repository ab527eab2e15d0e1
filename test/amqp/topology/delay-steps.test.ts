import { expect, it } from 'vitest'
import { DELAY_STEPS, delayStepOf, MAX_DELAY } from '../../../src/amqp/topology/delay-steps.js'
import { levelOf, queueFor, queuesBehind } from '../../../src/amqp/topology/topology.js'

it('a delay is rounded up to the next step, by a second or 2 % at most', () => {
  expect(DELAY_STEPS).toEqual([...DELAY_STEPS].sort((a, b) => a - b))
  expect(new Set(DELAY_STEPS).size).toBe(DELAY_STEPS.length)
  expect([1, 100, 101, 1_000, 1_001, 61_000, 61_001, MAX_DELAY].map(delayStepOf)).toEqual([100, 100, 200, 1_000, 2_000, 61_000, 62_000, MAX_DELAY])
  for (const [i, step] of DELAY_STEPS.entries()) {
    expect(delayStepOf(step)).toBe(step)
    const next = DELAY_STEPS[i + 1]
    if (next !== undefined) expect(next - step).toBeLessThanOrEqual(Math.max(1_000, step * 0.02))
  }
})

it('the number of delay queues of one queue is bounded', () => {
  const MINUTE = 60_000
  expect([MINUTE, 60 * MINUTE, 24 * 60 * MINUTE, MAX_DELAY].map((up) => DELAY_STEPS.filter((step) => step <= up).length)).toEqual([65, 298, 459, 632])
})

it('each priority has a level', () => {
  const quorum = { queueType: 'quorum', priorityLevels: 3, declare: true } as const
  expect([undefined, -1, 0, 0.9, 1, 2, 3, 255, Number.NaN].map((priority) => levelOf(priority, quorum))).toEqual([0, 0, 0, 0, 1, 2, 2, 2, 0])
  expect(queuesBehind('q', quorum)).toEqual(['q.p2', 'q.p1', 'q'])
  expect(queueFor('q', 2, quorum)).toBe('q.p2')
  expect(queueFor('q', 2, { ...quorum, queueType: 'classic' })).toBe('q')
  expect(queuesBehind('q', { ...quorum, priorityLevels: 1 })).toEqual(['q'])
})
