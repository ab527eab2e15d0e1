import { describe, expect, test } from 'vitest'
import { Hub } from '../../../src/hub/index.js'
import { PoolWorker } from '../../../src/pool/worker/worker.js'
import type { WorkerListener } from '../../../src/pool/worker/worker-listener.js'
import { FLAG_PLACED } from '../../../src/wire/arena/place.js'
import { flagsOf, LENGTH_BYTES } from '../../../src/wire/frame.js'
import { FakeClock } from '../../hub/fakes.js'
import { MemoryFile } from '../../wire/arena/memory-file.js'
import { FakeProcess } from '../fake-process.js'
import { makeJob } from '../jobs/jobs.js'
import { read } from '../option-help.js'

const noEvents = new Proxy({}, { get: () => () => {} }) as WorkerListener<PoolWorker>
const CAPACITY = 10_000
const BYTES = 4_000

/** A worker that is up, with room for two jobs by place. */
const setUp = ({ places = true } = {}) => {
  const process = new FakeProcess()
  const record = { offset: 0, read: () => undefined, close: () => {} }
  const memory = { jobs: new MemoryFile(CAPACITY), results: new MemoryFile(CAPACITY), capacity: CAPACITY, from: 100, trim: () => {}, close: () => {} }
  const worker = new PoolWorker(1, new Hub(new FakeClock()), noEvents, read(), {
    launched: Object.assign(process, { record, memory }),
    timeoutFactor: 1,
    spare: false,
    predecessor: undefined,
  })
  worker.up({ pid: 1, tasks: [{ name: 'task' }], rss: 5, places })
  /** Whether it went by place. */
  const assign = (number: number): boolean => {
    const before = process.jobs.bytes.length
    worker.assign(makeJob(number, { parts: [Buffer.alloc(BYTES, number)], size: BYTES }))
    worker.flush()
    return (flagsOf(process.jobs.bytes, before + LENGTH_BYTES) & FLAG_PLACED) !== 0
  }
  return { worker, assign }
}

describe('the memory for large arguments', () => {
  test('is used again once the worker has accepted the job, which it does after it has read them', () => {
    const { worker, assign } = setUp()
    expect([assign(1), assign(2), assign(3)]).toEqual([true, true, false])
    worker.accepted(1)
    expect([assign(4), assign(5)]).toEqual([true, false])
  })

  test('is used again when jobs were taken back', () => {
    const { worker, assign } = setUp()
    assign(1)
    assign(2)
    worker.recall()
    worker.recalled(0, 2)
    expect([assign(3), assign(4), assign(5)]).toEqual([true, true, false])
  })

  // The watchdog tells what the main thread has claimed: that may be about to read the arguments.
  test('is not used again for what the watchdog alone has reported', () => {
    const { worker, assign } = setUp()
    assign(1)
    worker.recorded.begin()
    worker.recall()
    worker.recalled(1, 1)
    expect(worker.jobs.running.size).toBe(1)
    expect([assign(2), assign(3)]).toEqual([true, false])
    worker.answered(1, 0, Buffer.of(0), 0, 0, 0)
    expect(assign(4)).toBe(true)
  })

  test('is not used for a worker that could not open it', () => {
    expect(setUp({ places: false }).assign(1)).toBe(false)
  })
})
