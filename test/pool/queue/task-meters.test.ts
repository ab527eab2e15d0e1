import { describe, expect, test } from 'vitest'
import { LONG_MS, TaskMeters } from '../../../src/pool/queue/task-meters.js'

const measured = (...runs: readonly number[]): number => {
  const meters = new TaskMeters()
  for (const ms of runs) meters.record('task', ms)
  return meters.ahead('task')
}
const times = (count: number, ms: number): number[] => Array(count).fill(ms)

describe('jobs written ahead', () => {
  test('are none of a task that was never measured, whatever other tasks do', () => {
    const meters = new TaskMeters()
    meters.record('short', 0.1)
    expect(meters.ahead('other')).toBe(0)
    expect(meters.ahead('short')).toBeGreaterThan(0)
  })

  test.each([
    [1, 1],
    [1.5, 1],
    [1.6, 0],
    [5, 0],
    [0.5, 3],
    [0.3, 5],
    [0.2, 25],
    [0.05, 100],
    [0.001, 128],
    [0, 128],
  ])('of a task that takes %d ms: so much is written ahead, %d', (ms, ahead) => {
    expect(measured(ms)).toBe(ahead)
    expect(measured(...times(100, ms))).toBe(ahead)
  })

  test.each([
    ['never measured', [], false],
    ['short', [0.1], true],
    ['not that short', [0.3], false],
    ['often long', [50, 0.1, 0.1], false],
  ] as const)('a task that is %s is tiny: %j, %s', (_, runs, tiny) => {
    const meters = new TaskMeters()
    for (const ms of runs) meters.record('task', ms)
    expect(meters.isTiny('task')).toBe(tiny)
  })

  test('are none of a task whose first run was long, until many were short', () => {
    expect(measured(LONG_MS + 1)).toBe(0)
    expect(measured(50, ...times(10, 0.1))).toBe(0)
    expect(measured(50, ...times(100, 0.1))).toBeGreaterThan(10)
  })

  test('are none of a task that is often long, and some of one that rarely is', () => {
    const mixed = (every: number) => Array.from({ length: 400 }, (_, i) => (i % every === 0 ? 100 : 0.1))
    expect(measured(...mixed(3))).toBe(0)
    expect(measured(...mixed(50))).toBeGreaterThanOrEqual(45)
  })

  test('follow a task that becomes slower or faster', () => {
    expect(measured(...times(50, 0.1), ...times(100, 4))).toBe(0)
    expect(measured(...times(50, 4), ...times(100, 0.1))).toBeGreaterThan(30)
    expect(measured(...times(50, 0.1), ...times(10, 50))).toBe(0)
  })
})
