import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JobRecord } from '../../src/pool/jobs/job.js'
import { AbortRegistry } from '../../src/util/abort-registry.js'
import { makeJob, succeeded } from '../pool/jobs/jobs.js'

const setUp = () => {
  const cancelled: [number, unknown][] = []
  const registry = new AbortRegistry<JobRecord>((job, reason) => {
    cancelled.push([job.number, reason])
    job.cancel(reason)
  })
  const controller = new AbortController()
  const watch = (number: number): JobRecord => {
    const job = makeJob(number)
    job.onSettled = registry.watch(controller.signal, job)
    return job
  }
  return { registry, controller, cancelled, watch, listeners: () => getEventListeners(controller.signal, 'abort').length }
}

describe('jobs with an abort signal', () => {
  const warnings: Error[] = []
  const note = (warning: Error): void => {
    warnings.push(warning)
  }
  beforeEach(() => {
    process.on('warning', note)
  })
  afterEach(() => {
    process.off('warning', note)
  })

  test('a thousand share one listener, which is removed when the last of them settles', async () => {
    const { watch, listeners } = setUp()
    const jobs = Array.from({ length: 1_000 }, (_, i) => watch(i))
    expect(listeners()).toBe(1)
    for (const job of jobs.slice(1)) job.settle(succeeded(1))
    expect(listeners()).toBe(1)
    jobs[0]!.settle(succeeded(1))
    expect(listeners()).toBe(0)
    await new Promise((resolve) => setImmediate(resolve))
    expect(warnings).toEqual([])
  })

  test('are cancelled in order with its reason, unless they have settled', () => {
    const { controller, cancelled, watch, listeners } = setUp()
    const [a, b, c] = [watch(1), watch(2), watch(3)]
    b.settle(succeeded(1))
    const reason = new Error('enough')
    controller.abort(reason)
    expect(cancelled).toEqual([
      [1, reason],
      [3, reason],
    ])
    expect([a.state, b.state, c.state, listeners()]).toEqual(['cancelled', 'succeeded', 'cancelled', 0])
  })

  test('jobs may settle and be added while the others are cancelled', () => {
    const { controller, registry } = setUp()
    const [a, b] = [makeJob(1), makeJob(2)]
    const late = makeJob(3)
    a.onSettled = registry.watch(controller.signal, a)
    b.onSettled = registry.watch(controller.signal, b)
    const undo = a.onSettled
    a.onSettled = () => {
      undo()
      b.settle(succeeded(1))
      late.onSettled = registry.watch(controller.signal, late)
    }
    controller.abort()
    expect([a.state, b.state]).toEqual(['cancelled', 'succeeded'])
    late.settle(succeeded(1))
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('a signal can be watched again after all its jobs have settled', () => {
    const { controller, cancelled, watch, listeners } = setUp()
    watch(1).settle(succeeded(1))
    watch(2)
    expect(listeners()).toBe(1)
    controller.abort('now')
    expect(cancelled).toEqual([[2, 'now']])
  })

  test('an abort cancels only the jobs of its signal', () => {
    const { registry, controller, cancelled, watch } = setUp()
    const other = new AbortController()
    const job = makeJob(9)
    registry.watch(other.signal, job)
    watch(1)
    controller.abort()
    expect(cancelled.map(([number]) => number)).toEqual([1])
    expect(job.state).toBe('queued')
  })
})
