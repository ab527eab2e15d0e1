import { expect, it } from 'vitest'
import { Hold, movingWorkers } from '../../../src/node/scaling/hold.js'
import { TaskRuns } from '../../../src/runtime/collections/run-times.js'

/** Undefined: never measured. */
const task = (ms?: number): TaskRuns => {
  const runs = new TaskRuns()
  if (ms !== undefined) runs.ended(ms)
  return runs
}

const after = (...tasks: TaskRuns[]): number => {
  const hold = new Hold(9)
  hold.update(tasks, 0)
  return hold.ahead
}

it('is as many as begin within half a second, in powers of two, up to the most', () => {
  expect([600, 500, 251, 250, 100, 50, 1].map((ms) => after(task(ms)))).toEqual([0, 1, 1, 2, 4, 8, 9])
  expect(after(task(1), task(400))).toBe(1)
})

it('is nothing while a task among them was never measured', () => {
  expect(after(task(1), task())).toBe(0)
  const hold = new Hold(9)
  hold.update([task(1)], 0)
  expect(hold.update([task(1), task()], 250)).toBe(true)
  expect(hold.ahead).toBe(0)
})

it('is lowered when that was right for five seconds, and not raised for as long', () => {
  const hold = new Hold(9)
  const at = (ms: number, now: number): number => {
    hold.update([task(ms)], now)
    return hold.ahead
  }
  expect([at(50, 0), at(400, 1_000), at(400, 5_999), at(400, 6_000)]).toEqual([8, 8, 8, 1])
  expect([at(50, 6_250), at(50, 10_999), at(50, 11_000)]).toEqual([1, 1, 8])
  // For a moment only.
  expect([at(400, 12_000), at(50, 13_000), at(400, 17_500)]).toEqual([8, 8, 8])
})

it('is nothing at first, and where no task began lately', () => {
  const hold = new Hold(9)
  expect(hold.update([], 0)).toBe(false)
  expect(hold.ahead).toBe(0)
  hold.update([task(1)], 250)
  expect(hold.update([], 60_000)).toBe(true)
  expect(hold.ahead).toBe(0)
})

it('counts for workers whose slots become free soon', () => {
  const job = (age: number) => ({ id: 'x', name: 'x', attempt: 1, age })
  const moving = (concurrency: number, running: number, age?: number, stalled = 0): number =>
    movingWorkers([{ running, job: age === undefined ? undefined : job(age), stalled }], concurrency)
  expect([moving(1, 0), moving(1, 1, 500), moving(1, 1, 501)]).toEqual([1, 1, 0])
  // Another slot is free, but not where the main thread is held.
  expect([moving(2, 1, 60_000), moving(2, 2, 60_000), moving(2, 1, 60_000, 501)]).toEqual([1, 0, 0])
})
