import { expect, it } from 'vitest'
import type { NodeParts } from '../../../src/node/node-stats.js'
import { loadOf } from '../../../src/node/scaling/load.js'
import { WorkerCpu } from '../../../src/node/scaling/worker-cpu.js'
import { RunTimes } from '../../../src/runtime/collections/run-times.js'

const parts = {
  pool: { load: () => ({ running: 0, peakRunning: 0, starting: 0, startTime: undefined, startsFail: false }) },
  runtime: { waiting: () => ({ jobs: new Map(), longest: 0 }), runTimes: new RunTimes() },
  settings: { concurrency: 1 },
} as unknown as NodeParts

const loadWith = (backlog: Parameters<typeof loadOf>[1]['backlog']) =>
  loadOf(parts, { backlog, workers: [], cpu: new WorkerCpu(2), roomTaken: false, since: 0, now: 0 }).load

it('counts of each queue the share of the node, and all where that is not known', () => {
  const load = loadWith([
    { queue: 'a', ready: 10, share: 0.1 },
    { queue: 'b', ready: 4, share: 0.5 },
    { queue: 'c', ready: 2, share: undefined },
  ])
  expect(load).toMatchObject({ ready: { jobs: 5 }, asked: true, shared: true })
  expect(loadWith([{ queue: 'a', ready: 10, share: 1 }])).toMatchObject({ ready: { jobs: 10 }, shared: false })
  expect(loadWith([])).toMatchObject({ ready: { jobs: 0 }, asked: false })
})
