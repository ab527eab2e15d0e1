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
    [1, 5],
    [2, 2],
    [5, 1],
    [0.05, 100],
    [0.001, 128],
    [0, 128],
  ])('of a task that takes %d ms: about 5 ms of work, %d', (ms, ahead) => {
    expect(measured(ms)).toBe(ahead)
    expect(measured(...times(100, ms))).toBe(ahead)
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
    expect(measured(...times(50, 0.1), ...times(100, 4))).toBe(1)
    expect(measured(...times(50, 4), ...times(100, 0.1))).toBeGreaterThan(30)
    expect(measured(...times(50, 0.1), ...times(10, 50))).toBe(0)
  })
})
