import { expect, it } from 'vitest'
import { type Clock, Hub } from '../../../src/hub/index.js'
import { EventHub } from '../../../src/pool/events.js'
import type { JobRecord } from '../../../src/pool/jobs/job.js'
import type { JobLifecycle } from '../../../src/pool/jobs/job-lifecycle.js'
import { readOptions } from '../../../src/pool/options.js'
import { PoolState } from '../../../src/pool/pool-state.js'
import { Dispatcher } from '../../../src/pool/queue/dispatcher.js'
import { Heartbeats, Progress } from '../../../src/pool/worker/health.js'
import { InFlightJobs } from '../../../src/pool/worker/in-flight-jobs.js'
import { ReservedJobs } from '../../../src/pool/worker/reserved-jobs.js'
import { RecordedJob } from '../../../src/pool/worker/shared-memory/recorded-job.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'
import { FrameWriter } from '../../../src/wire/frame-writer.js'

/** A clock that only the test moves; it keeps the callbacks of polls. */
class StillClock implements Clock {
  time = 0
  readonly polls: (() => void)[] = []
  now = (): number => this.time
  setTimer = (): unknown => undefined
  clearTimer = (): void => {}
  afterPoll = (fn: () => void): void => void this.polls.push(fn)
  afterCode = this.afterPoll
  keepAlive = () => ({ hold: () => {}, release: () => {}, close: () => {} })
}

const noRecord = new RecordedJob(undefined, new InFlightJobs(), new FrameWriter(), () => {})

/** Jobs that cost the host `ms` each to write. */
const setUp = (jobs: number, ms: number, size = 0) => {
  const clock = new StillClock()
  const hub = new Hub(clock)
  const state = new PoolState(hub, readOptions({ tasks: 'tasks.js', workers: 1, dispatch: 100_000 }), new EventHub(undefined))
  const inFlight = new InFlightJobs()
  const worker = {
    jobs: inFlight,
    isUp: true,
    alive: true,
    recalls: 0,
    reserved: new ReservedJobs(),
    progress: new Progress(),
    heartbeats: new Heartbeats(0),
    recorded: noRecord,
    tasks: new Map([['task', 0]]),
    assign: (job: JobRecord) => {
      inFlight.write(job, 1)
      // As if each job had a worker of its own.
      inFlight.sentBytes = 0
      clock.time += ms
    },
    flush: () => {},
  } as unknown as PoolWorker
  state.slotTarget = 1
  state.workers.set(1, worker)
  for (let number = 1; number <= jobs; number++) {
    state.jobQueue.add({ number, task: 'task', priority: 0, waiting: true, takesTurns: false, state: 'queued', spec: { size } } as unknown as JobRecord)
  }
  const dispatcher = new Dispatcher(state, {} as JobLifecycle)
  return { clock, inFlight, dispatcher, worker, waiting: () => state.jobQueue.size }
}

it('stops dealing after about 2 ms and goes on in another tick, so that the host can do other work', () => {
  const { clock, dispatcher, inFlight, waiting } = setUp(10_000, 0.1)
  dispatcher.tick()
  expect(inFlight.deliveries).toBeGreaterThan(0)
  expect(inFlight.deliveries).toBeLessThanOrEqual(64)
  expect(waiting()).toBe(10_000 - inFlight.deliveries)
  expect(clock.polls).toHaveLength(1)
})

it('looks at the clock after each large job, whose bytes are copied when it is written', () => {
  const { dispatcher, inFlight } = setUp(100, 0.5, 1_000_000)
  dispatcher.tick()
  expect(inFlight.deliveries).toBe(5)
})

it('counts the time in which a worker takes up a retry from when it was written, not from when the worker came up', () => {
  const { clock, dispatcher, worker, inFlight } = setUp(0, 0)
  clock.time = 60_000
  worker.reserved.isolate([{ number: 1, task: 'task', isSettled: false, spec: { size: 0 } } as unknown as JobRecord])
  dispatcher.tick()
  expect([inFlight.deliveries, worker.progress.heldSince]).toEqual([1, 60_000])
})

it('deals everything in one tick where that takes less', () => {
  const { dispatcher, waiting } = setUp(1_000, 0)
  dispatcher.tick()
  expect(waiting()).toBe(0)
})

it('gives a spare worker no slot while a promoted one and its predecessor both use one', () => {
  const state = new PoolState(new Hub(new StillClock()), readOptions({ tasks: 'tasks.js', workers: 1, spare: 1 }), new EventHub(undefined))
  state.slotTarget = 1
  const written: string[] = []
  const makeWorker = (name: string, facts: { spare?: boolean; isUp?: boolean; isDraining?: boolean; used?: number }) => {
    const worker = {
      jobs: Object.assign(new InFlightJobs(), { slotsUsed: () => worker.used }),
      reserved: new ReservedJobs(),
      progress: new Progress(),
      heartbeats: new Heartbeats(0),
      recorded: noRecord,
      alive: true,
      recalls: 0,
      spare: false,
      used: 0,
      tasks: new Map([['task', 0]]),
      assign: () => written.push(name),
      flush: () => {},
      ...facts,
    }
    return worker
  }
  const draining = makeWorker('draining', { isDraining: true, used: 1 })
  const promoted = makeWorker('promoted', { used: 1 })
  const share = { number: 1, task: 'task', isSettled: false, spec: { size: 0 } } as unknown as JobRecord
  const spareWorker = makeWorker('spare', { spare: true, isUp: true })
  spareWorker.reserved.addShare(share)
  for (const [id, worker] of [draining, promoted, spareWorker].entries()) state.workers.set(id, worker as unknown as PoolWorker)
  const dispatcher = new Dispatcher(state, {} as JobLifecycle)
  dispatcher.tick()
  expect(written).toEqual([])
  draining.used = 0
  dispatcher.tick()
  expect(written).toEqual(['spare'])
})

it('passes over a bounded number of jobs that wait for a worker with newer task modules, and then ends the tick', () => {
  for (const [waiting, dealt] of [
    [63, ['old']],
    [64, []],
    [1_000, []],
  ] as const) {
    const clock = new StillClock()
    const state = new PoolState(new Hub(clock), readOptions({ tasks: 'tasks.js', workers: 2, dispatch: 'fair' }), new EventHub(undefined))
    state.slotTarget = 2
    const written: string[] = []
    const makeWorker = (name: string, inFlight: number, tasks: string[]) => ({
      jobs: { inFlight, sent: new Map(), running: new Map(), quota: () => Number.POSITIVE_INFINITY, slotsUsed: () => inFlight },
      reserved: new ReservedJobs(),
      progress: new Progress(),
      heartbeats: new Heartbeats(0),
      recorded: noRecord,
      isUp: true,
      alive: true,
      recalls: 0,
      tasks: new Map(tasks.map((task, index) => [task, index])),
      assign: () => written.push(name),
      flush: () => {},
    })
    for (const [id, worker] of [makeWorker('old', 0, ['task']), makeWorker('newer', 1, ['task', 'fresh'])].entries())
      state.workers.set(id, worker as unknown as PoolWorker)
    const add = (number: number, name: string) =>
      state.jobQueue.add({ number, task: name, priority: 0, waiting: true, takesTurns: false, state: 'queued', spec: { size: 0 } } as unknown as JobRecord)
    for (let number = 1; number <= waiting; number++) add(number, 'fresh')
    add(waiting + 1, 'task')
    const jobs = { fail: ({ number }: JobRecord) => written.push(`failed ${number}`) }
    const dispatcher = new Dispatcher(state, jobs as unknown as JobLifecycle)
    dispatcher.tick()
    expect(written).toEqual(dealt)
    expect(state.jobQueue.size).toBe(waiting + 1 - dealt.length)
    expect(state.jobQueue.peek()).toMatchObject({ number: 1, inJobQueue: true })
    // An autoscaling pool starts another.
    expect(dispatcher.saturated).toBe(true)
    expect(clock.polls).toHaveLength(0)
  }
})
