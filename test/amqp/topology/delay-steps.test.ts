import { expect, it } from 'vitest'
import { DELAY_STEPS, delayStepOf, MAX_DELAY } from '../../../src/amqp/topology/delay-steps.js'
import { levelOf, queueFor, queuesBehind } from '../../../src/amqp/topology/topology.js'

it('a delay is rounded up to the next step, by half at most from a second on', () => {
  expect(DELAY_STEPS).toEqual([...DELAY_STEPS].sort((a, b) => a - b))
  expect(new Set(DELAY_STEPS).size).toBe(DELAY_STEPS.length)
  expect([1, 100, 101, 1_000, 1_001, 61_000, MAX_DELAY].map(delayStepOf)).toEqual([100, 100, 200, 1_000, 1_500, 90_000, MAX_DELAY])
  for (const [i, step] of DELAY_STEPS.entries()) {
    expect(delayStepOf(step)).toBe(step)
    const next = DELAY_STEPS[i + 1]
    if (step >= 1_000 && next !== undefined) expect(next / step).toBeLessThanOrEqual(1.5)
  }
})

it('each priority has a level', () => {
  const quorum = { queueType: 'quorum', priorityLevels: 3, declare: true } as const
  expect([undefined, -1, 0, 0.9, 1, 2, 3, 255, Number.NaN].map((priority) => levelOf(priority, quorum))).toEqual([0, 0, 0, 0, 1, 2, 2, 2, 0])
  expect(queuesBehind('q', quorum)).toEqual(['q.p2', 'q.p1', 'q'])
  expect(queueFor('q', 2, quorum)).toBe('q.p2')
  expect(queueFor('q', 2, { ...quorum, queueType: 'classic' })).toBe('q')
  expect(queuesBehind('q', { ...quorum, priorityLevels: 1 })).toEqual(['q'])
})
