import { expect, test } from 'vitest'
import { Heartbeats, Progress } from '../../../src/pool/worker/health.js'

test('a worker that does not take up jobs is paused for longer each time, up to a second, until it takes one up', () => {
  const progress = new Progress()
  const pauses = Array.from({ length: 9 }, () => progress.backOff(5))
  expect(pauses).toEqual([10, 20, 40, 80, 160, 320, 640, 1_000, 1_000])
  expect([progress.pausedUntil, progress.pause]).toEqual([1_005, 1_000])
  progress.made(2_000)
  expect([progress.pausedUntil, progress.pause, progress.lastAt]).toEqual([0, 0, 2_000])
})

test('a job is held since it was written, or since the worker last accepted or answered one', () => {
  const progress = new Progress()
  progress.cameUp(1)
  progress.written(5)
  expect(progress.heldSince).toBe(5)
  progress.made(9)
  expect(progress.heldSince).toBe(9)
})

test('a delay of the host is taken off the silence of a worker, and memory that was not measured stays as it was', () => {
  const heartbeats = new Heartbeats(100)
  expect(heartbeats.cpu).toBeUndefined()
  heartbeats.beat(200, 5, 3, 7)
  heartbeats.measured(0)
  heartbeats.extendForHostDelay(50, 1_000)
  expect([heartbeats.lastAt, heartbeats.rss, heartbeats.mainAge, heartbeats.cpu]).toEqual([250, 5, 3, 7])
  heartbeats.extendForHostDelay(5_000, 1_000)
  expect(heartbeats.lastAt).toBe(1_000)
})
