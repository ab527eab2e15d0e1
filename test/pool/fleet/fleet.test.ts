import { expect, it } from 'vitest'
import { Hub } from '../../../src/hub/index.js'
import { EventHub } from '../../../src/pool/events.js'
import type { FirstWorker } from '../../../src/pool/first-worker.js'
import { Fleet } from '../../../src/pool/fleet/fleet.js'
import { Retirement } from '../../../src/pool/fleet/retirement.js'
import type { JobLifecycle } from '../../../src/pool/jobs/job-lifecycle.js'
import { PoolState } from '../../../src/pool/pool-state.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'
import type { WorkerListener } from '../../../src/pool/worker/worker-listener.js'
import type { WorkerUp } from '../../../src/wire/messages.js'
import { FakeClock } from '../../hub/fakes.js'
import { FakeProcess } from '../fake-process.js'
import { read } from '../option-help.js'

/** A fleet whose workers come up, and die, as the test wants it. */
const setUp = () => {
  const clock = new FakeClock()
  const hub = new Hub(clock)
  const state = new PoolState(hub, read({ workers: 2, aliveTimeout: 600_000, lostWorkerTimeout: 1 }), new EventHub(undefined))
  const starts: number[] = []
  const processes = new Map<number, FakeProcess>()
  const launch = (id: number): FakeProcess => {
    starts.push(clock.time)
    const process = new FakeProcess()
    processes.set(id, process)
    return process
  }
  const firstWorker = { reject: () => {} } as unknown as FirstWorker
  const fleet = new Fleet(state, launch, {} as JobLifecycle, new Retirement(state), firstWorker)
  hub.onTick(() => fleet.balance())
  fleet.begin({
    onUp: (worker: PoolWorker) => fleet.up(worker),
    onExit: (worker: PoolWorker) => fleet.workerExit.exited(worker),
    onOutputRead: () => {},
  } as unknown as WorkerListener<PoolWorker>)
  clock.pollUntilQuiet()
  const starting = (): PoolWorker[] => [...state.workers.values()].filter((worker) => worker.isStarting)
  const up = (worker: PoolWorker): void => {
    worker.up({ pid: 1, tasks: [], rss: 1, places: false } as WorkerUp)
    worker.jobs.accepted = 1
    clock.pollUntilQuiet()
  }
  const die = (worker: PoolWorker): void => {
    processes.get(worker.id)!.exit({ exitCode: 1, signal: null })
    fleet.workerExit.outputRead(worker)
    clock.pollUntilQuiet()
  }
  /** Whatever starts dies before it is up, `times` times. */
  const fail = (times: number): void => {
    for (let i = 0; i < times; i++) {
      while (starting().length === 0) clock.advance(1)
      die(starting()[0]!)
    }
  }
  return { clock, fleet, starts, starting, up, die, fail }
}

it('failures before the death of the last good worker do not delay the starts after it, even if those fail', () => {
  const { clock, starts, starting, up, die, fail } = setUp()
  const [good] = starting()
  up(good!)
  fail(6)
  const since = clock.time
  die(good!)
  expect(starts.at(-1)).toBe(since)
  fail(2)
  clock.advance(1_000)
  expect(starts.at(-1)).toBe(since + 200)
})

it('nor do they delay the starts after a restart', () => {
  const { clock, fleet, starts, starting, up, fail } = setUp()
  up(starting()[0]!)
  fail(6)
  const since = clock.time
  void fleet.restart()
  clock.pollUntilQuiet()
  expect(starts.at(-1)).toBe(since)
  fail(2)
  clock.advance(1_000)
  expect(starts.at(-1)).toBe(since + 200)
})
