import { expect, test } from 'vitest'
import { Hub } from '../../../src/hub/index.js'
import { EventHub } from '../../../src/pool/events.js'
import { CancelGrace } from '../../../src/pool/jobs/cancel-grace.js'
import { PoolState } from '../../../src/pool/pool-state.js'
import { RunningJobs } from '../../../src/pool/worker/in-flight-jobs.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'
import { FakeClock } from '../../hub/fakes.js'
import { read } from '../option-help.js'
import { makeJob } from './jobs.js'

/** A cancelled job that runs in worker 7. */
const setUp = (grace: number) => {
  const clock = new FakeClock()
  clock.time = 100
  const state = new PoolState(new Hub(clock), read(), new EventHub(undefined))
  const job = makeJob(1, { name: 'deaf' })
  Object.assign(job, { holder: 7, delivery: 3, cancellation: { reason: 'enough', grace, endsAt: 0, deadline: undefined } })
  const running = new RunningJobs()
  running.add(job)
  const killed: string[] = []
  const worker = { alive: true, readers: [], jobs: { running }, killFor: (_: string, error: Error) => killed.push(error.message) } as unknown as PoolWorker
  state.workers.set(7, worker)
  return { clock, job, running, killed, worker, cancelGrace: new CancelGrace(state) }
}

test('its worker is killed when the grace of a job is over', () => {
  const { clock, job, killed, worker, cancelGrace } = setUp(500)
  cancelGrace.begin(worker, job)
  clock.advance(499)
  expect(killed).toEqual([])
  clock.advance(1)
  expect(killed).toEqual(["The cancelled job 'deaf' (test-1) did not end within 500 ms."])
})

test('a job that has ended, or whose worker is gone, costs no worker', () => {
  for (const end of [
    ({ running }: ReturnType<typeof setUp>) => running.take(3),
    ({ worker }: ReturnType<typeof setUp>) => Object.assign(worker, { alive: false }),
  ]) {
    for (const grace of [0, 500]) {
      const bench = setUp(grace)
      bench.cancelGrace.begin(bench.worker, bench.job)
      end(bench)
      bench.clock.pollUntilQuiet()
      bench.clock.advance(1_000)
      expect(bench.killed).toEqual([])
    }
  }
})

test('with a grace of 0 its worker is killed after a poll, without a timer', () => {
  const { clock, job, killed, worker, cancelGrace } = setUp(0)
  cancelGrace.begin(worker, job)
  expect(killed).toEqual([])
  clock.pollUntilQuiet()
  expect([killed, clock.timersSet]).toEqual([["The job 'deaf' (test-1) was cancelled with a grace of 0 ms."], 0])
})

test('only a shorter grace counts, from the time of that cancellation', () => {
  const { clock, job, killed, worker, cancelGrace } = setUp(500)
  cancelGrace.begin(worker, job)
  clock.advance(200)
  for (const longer of [undefined, 300, 5_000]) cancelGrace.shorten(job, longer)
  expect(job.cancellation).toMatchObject({ grace: 500, endsAt: 600 })
  cancelGrace.shorten(job, 100)
  expect(job.cancellation).toMatchObject({ grace: 100, endsAt: 400 })
  clock.advance(99)
  expect(killed).toEqual([])
  clock.advance(1)
  expect(killed).toEqual(["The cancelled job 'deaf' (test-1) did not end within 100 ms."])
  clock.advance(1_000)
  expect(killed).toHaveLength(1)
})

test('a grace that was extended because the host stalled can be shortened', () => {
  for (const [shorter, time] of [
    [0, 0],
    [100, 100],
    [5_000, 500],
  ] as const) {
    const { clock, job, killed, worker, cancelGrace } = setUp(500)
    cancelGrace.begin(worker, job)
    clock.stall(2_000)
    clock.pollUntilQuiet()
    cancelGrace.shorten(job, shorter)
    clock.advance(Math.max(0, time - 1))
    if (time > 0) expect(killed).toEqual([])
    clock.pollUntilQuiet()
    clock.advance(1)
    expect(killed).toHaveLength(1)
  }
})

test('before the job is known to run its grace does not begin, and can be shortened', () => {
  const { clock, job, killed, worker, cancelGrace } = setUp(500)
  cancelGrace.shorten(job, 800)
  cancelGrace.shorten(job, 50)
  clock.advance(1_000)
  expect(killed).toEqual([])
  cancelGrace.begin(worker, job)
  clock.advance(50)
  expect(killed).toEqual(["The cancelled job 'deaf' (test-1) did not end within 50 ms."])
})

test('a job that was never cancelled, or has been answered, has no grace to shorten', () => {
  const { clock, job, running, killed, worker, cancelGrace } = setUp(500)
  cancelGrace.shorten(makeJob(2), 0)
  cancelGrace.begin(worker, job)
  running.take(3)
  cancelGrace.shorten(job, 0)
  clock.advance(1_000)
  expect(killed).toEqual([])
})
