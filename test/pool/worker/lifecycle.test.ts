import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Hub } from '../../../src/hub/index.js'
import { transitions, type WorkerModeName } from '../../../src/pool/worker/lifecycle.js'
import { PoolWorker } from '../../../src/pool/worker/worker.js'
import type { WorkerListener } from '../../../src/pool/worker/worker-listener.js'
import type { WorkerUp } from '../../../src/wire/messages.js'
import { FakeClock } from '../../hub/fakes.js'
import { FakeProcess } from '../fake-process.js'
import { makeJob } from '../jobs/jobs.js'
import { read } from '../option-help.js'

const UP = { pid: 1, tasks: [{ name: 'task' }], rss: 5 } as unknown as WorkerUp
const noEvents = new Proxy({}, { get: () => () => {} }) as WorkerListener<PoolWorker>

describe('the mode of a worker', () => {
  let seen: [WorkerModeName, WorkerModeName][]
  let process: FakeProcess
  let worker: PoolWorker
  const shown = () => worker.state(worker.jobs.inFlight)
  beforeEach(() => {
    seen = []
    transitions.observe = (_, from, to) => seen.push([from, to])
    process = new FakeProcess()
    worker = new PoolWorker(1, new Hub(new FakeClock()), noEvents, read(), { launched: process, timeoutFactor: 1, spare: false, predecessor: undefined })
  })
  afterEach(() => {
    transitions.observe = undefined
  })

  test('goes from its start through its drain to its exit, and that one is expected', () => {
    worker.up(UP)
    worker.drain('restart')
    worker.quit()
    expect([worker.expected, worker.isBeingReplaced]).toEqual([true, true])
    process.exit({ exitCode: 0, signal: null })
    expect(seen).toEqual([
      ['starting', 'up'],
      ['up', 'draining'],
      ['draining', 'retiring'],
      ['retiring', 'dead'],
    ])
    expect([worker.expected, worker.alive, worker.exit?.exitCode]).toEqual([true, false, 0])
  })

  test('a WORKER_UP is ignored once the worker is killed while it starts, and so is a second one', () => {
    worker.discard()
    worker.up(UP)
    expect([worker.mode.name, worker.upAt, process.killed]).toEqual(['retiring', 0, true])
    expect(seen).toEqual([['starting', 'retiring']])
  })

  test('the first reason to drain stays, and a worker that is not up does not drain', () => {
    expect(worker.drain('recycle')).toBe(false)
    worker.up(UP)
    expect([worker.drain('shrink'), worker.drain('damaged')]).toEqual([true, false])
    expect([worker.mode, worker.isBeingReplaced]).toEqual([{ name: 'draining', reason: 'shrink' }, false])
  })

  test('an exit out of any mode is a death, and expected only of one that retires', () => {
    worker.up(UP)
    worker.killFor('frozen', new Error('first'))
    worker.killFor('protocol')
    process.exit({ exitCode: null, signal: 'SIGKILL' })
    expect([worker.expected, worker.killReason?.reason, worker.unusable]).toEqual([false, 'frozen', true])
    expect(() => process.exit({ exitCode: 0, signal: null })).toThrow("Worker 1 cannot become 'dead': it is 'dead'.")
  })

  test("is shown as 'busy' while it is up and jobs are in flight", () => {
    expect(shown()).toBe('starting')
    worker.up(UP)
    expect(shown()).toBe('up')
    worker.assign(makeJob(1))
    expect(shown()).toBe('busy')
    worker.drain('recycle')
    expect(shown()).toBe('draining')
  })
})

test('of the defects of a worker the first stays, but a closed claim word gives way to a graver one', () => {
  const worker = new PoolWorker(1, new Hub(new FakeClock()), noEvents, read(), {
    launched: new FakeProcess(),
    timeoutFactor: 1,
    spare: false,
    predecessor: undefined,
  })
  worker.markDefective('claims closed')
  expect([worker.unusable, worker.unresponsive]).toEqual([true, false])
  worker.markDefective('unresponsive')
  worker.markDefective('quarantined')
  expect([worker.unresponsive, worker.quarantined]).toEqual([true, false])
})
