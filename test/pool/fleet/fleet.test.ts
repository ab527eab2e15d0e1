import { expect, it } from 'vitest'
import { Hub } from '../../../src/hub/index.js'
import { EventHub } from '../../../src/pool/events.js'
import { Fleet } from '../../../src/pool/fleet/fleet.js'
import { PoolState } from '../../../src/pool/pool-state.js'
import type { LaunchedProcess } from '../../../src/pool/worker/launcher.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'
import type { WorkerOwner } from '../../../src/pool/worker/worker-owner.js'
import { FakeClock, FakeReadable, FakeWritable } from '../../hub/fakes.js'
import { read } from '../option-help.js'

/** A process that does nothing by itself. */
const launch = (): LaunchedProcess => ({
  pid: 1,
  jobs: new FakeWritable(),
  results: new FakeReadable(),
  lifeline: new FakeWritable(),
  stdout: undefined,
  stderr: undefined,
  onExit: () => {},
  kill: () => {},
  killRest: () => {},
})

/** A fleet whose workers come up, and die, when they are told to. */
const setUp = () => {
  const clock = new FakeClock()
  const hub = new Hub(clock)
  const state = new PoolState(hub, read({ workers: 2, aliveTimeout: 600_000 }), new EventHub(undefined))
  const starts: number[] = []
  const fleet = new Fleet(
    state,
    () => {
      starts.push(clock.time)
      return launch()
    },
    { owner: {} as WorkerOwner, cannotStart: () => {}, unanswered: () => {} },
  )
  hub.onTick(fleet.balance)
  fleet.changed()
  clock.pollUntilQuiet()
  const starting = (): PoolWorker[] => [...state.workers.values()].filter((worker) => worker.state === 'starting')
  const up = (worker: PoolWorker): void => {
    worker.state = 'up'
    worker.jobs.accepted = 1
    fleet.up(worker)
    clock.pollUntilQuiet()
  }
  const die = (worker: PoolWorker): void => {
    worker.exit = { exitCode: 1, signal: null }
    worker.state = 'dead'
    fleet.exited(worker)
    fleet.drained(worker)
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

it('what failed before the last good worker died does not put off the starts after it, those that fail included', () => {
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

it('nor those after a restart', () => {
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
