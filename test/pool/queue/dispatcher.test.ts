import { expect, it } from 'vitest'
import { type Clock, Hub } from '../../../src/hub/index.js'
import { EventHub } from '../../../src/pool/events.js'
import type { JobRecord } from '../../../src/pool/jobs/job.js'
import { readOptions } from '../../../src/pool/options.js'
import { PoolState } from '../../../src/pool/pool-state.js'
import { Dispatcher } from '../../../src/pool/queue/dispatcher.js'
import { InFlightJobs } from '../../../src/pool/worker/in-flight-jobs.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'

/** A clock that stands still unless it is moved, and keeps what is to be called. */
class StillClock implements Clock {
  time = 0
  readonly polls: (() => void)[] = []
  now = (): number => this.time
  setTimer = (): unknown => undefined
  clearTimer = (): void => {}
  afterPoll = (fn: () => void): void => void this.polls.push(fn)
  keepAlive = () => ({ hold: () => {}, release: () => {}, close: () => {} })
}

/** Jobs that cost the host `ms` each to write. */
const setUp = (jobs: number, ms: number) => {
  const clock = new StillClock()
  const hub = new Hub(clock)
  const state = new PoolState(hub, readOptions({ tasks: 'tasks.js', workers: 1, dispatch: 100_000 }), new EventHub(undefined))
  const books = new InFlightJobs()
  const worker = {
    jobs: books,
    isUp: true,
    alive: true,
    state: 'up',
    recalls: 0,
    quota: () => Number.POSITIVE_INFINITY,
    slotsUsed: () => 0,
    isolatedRetries: [],
    pinned: [],
    stuckUntil: 0,
    lastProgressAt: 0,
    tasks: new Map([['task', 0]]),
    assign: (job: JobRecord) => {
      books.write(job, 1)
      clock.time += ms
    },
    flush: () => {},
  } as unknown as PoolWorker
  state.slotTarget = 1
  state.workers.set(1, worker)
  for (let number = 1; number <= jobs; number++) {
    state.outbox.add({ number, task: 'task', priority: 0, waiting: true, takesTurns: false, state: 'queued', spec: { size: 0 } } as unknown as JobRecord)
  }
  const dispatcher = new Dispatcher(state)
  return { clock, books, dispatcher, waiting: () => state.outbox.size }
}

it('stops dealing after about 2 ms and goes on in another tick: the host has its turn in between', () => {
  const { clock, dispatcher, books, waiting } = setUp(10_000, 0.1)
  dispatcher.tick()
  expect(books.deliveries).toBeGreaterThan(0)
  expect(books.deliveries).toBeLessThanOrEqual(64)
  expect(waiting()).toBe(10_000 - books.deliveries)
  expect(clock.polls).toHaveLength(1)
})

it('deals everything in one tick while that is quick', () => {
  const { dispatcher, waiting } = setUp(1_000, 0)
  dispatcher.tick()
  expect(waiting()).toBe(0)
})

it('gives a stand-by no slot while one that was promoted with its own still shares the place of its predecessor', () => {
  const state = new PoolState(new Hub(new StillClock()), readOptions({ tasks: 'tasks.js', workers: 1, spare: 1 }), new EventHub(undefined))
  state.slotTarget = 1
  const written: string[] = []
  const makeWorker = (name: string, figures: { spare?: boolean; state?: string; used?: number; pinned?: JobRecord[] }) => {
    const books = new InFlightJobs()
    const worker = {
      jobs: books,
      alive: true,
      state: 'up',
      recalls: 0,
      spare: false,
      used: 0,
      isolatedRetries: [],
      pinned: [],
      tasks: new Map([['task', 0]]),
      quota: () => Number.POSITIVE_INFINITY,
      slotsUsed: () => worker.used,
      assign: () => written.push(name),
      flush: () => {},
      ...figures,
    }
    return worker
  }
  const leaving = makeWorker('leaving', { state: 'draining', used: 1 })
  const promoted = makeWorker('promoted', { used: 1 })
  const share = { number: 1, task: 'task', isSettled: false, spec: { size: 0 } } as unknown as JobRecord
  const standBy = { ...makeWorker('stand-by', { spare: true, pinned: [share] }), isUp: true }
  for (const [id, worker] of [leaving, promoted, standBy].entries()) state.workers.set(id, worker as unknown as PoolWorker)
  const dispatcher = new Dispatcher(state)
  dispatcher.tick()
  expect(written).toEqual([])
  leaving.used = 0
  dispatcher.tick()
  expect(written).toEqual(['stand-by'])
})

it('passes over, up to a bound, what waits for a worker whose code is newer; more of it makes no tick go on for ever', () => {
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
      jobs: { inFlight, sent: new Map(), running: new Map() },
      isUp: true,
      alive: true,
      state: inFlight > 0 ? 'busy' : 'up',
      recalls: 0,
      isolatedRetries: [],
      pinned: [],
      stuckUntil: 0,
      lastProgressAt: 0,
      tasks: new Map(tasks.map((task, index) => [task, index])),
      quota: () => Number.POSITIVE_INFINITY,
      slotsUsed: () => inFlight,
      assign: () => written.push(name),
      flush: () => {},
    })
    for (const [id, worker] of [makeWorker('old', 0, ['task']), makeWorker('newer', 1, ['task', 'fresh'])].entries())
      state.workers.set(id, worker as unknown as PoolWorker)
    const add = (number: number, name: string) =>
      state.outbox.add({ number, task: name, priority: 0, waiting: true, takesTurns: false, state: 'queued', spec: { size: 0 } } as unknown as JobRecord)
    for (let number = 1; number <= waiting; number++) add(number, 'fresh')
    add(waiting + 1, 'task')
    const dispatcher = new Dispatcher(state)
    dispatcher.onUnknownTask = (_worker, { number }) => written.push(`refused ${number}`)
    dispatcher.tick()
    expect(written).toEqual(dealt)
    expect(state.outbox.size).toBe(waiting + 1 - dealt.length)
    expect(state.outbox.peek()).toMatchObject({ number: 1, inOutbox: true })
    // An autoscaling pool starts another.
    expect(dispatcher.saturated).toBe(true)
    expect(clock.polls).toHaveLength(0)
  }
})
