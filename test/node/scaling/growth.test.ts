import { describe, expect, it } from 'vitest'
import { Growth, type GrowthRule, type Load } from '../../../src/node/scaling/growth.js'

/** One worker runs a job, and a job waits that nobody has measured. */
const BUSY: Load = {
  now: 10_000,
  waiting: [{ jobs: 1, runTime: undefined }],
  waited: 250,
  ready: { jobs: 0, runTime: undefined },
  asked: true,
  roomTaken: false,
  shared: false,
  running: 1,
  lastBegan: 9_750,
  up: 1,
  starting: 0,
  startTime: 300,
  startsFail: false,
  cpuFree: true,
}

const wanted = (load: Partial<Load>, rule: Partial<GrowthRule> = {}, max = 100): number =>
  new Growth({ concurrency: 1, scaleUpAfter: 250, scaleUpBatch: 100, cpus: 2, random: () => 0, ...rule }).wanted({ ...BUSY, ...load }, max)

describe('jobs that wait in the node', () => {
  it.each<[string, Partial<Load>, number]>([
    ['one that nobody has measured', {}, 2],
    ['eight of them', { waiting: [{ jobs: 8, runTime: undefined }] }, 9],
    ['not yet for scaleUpAfter', { waited: 249 }, 1],
    [
      'a long one beside short ones',
      {
        waiting: [
          { jobs: 1, runTime: 5_000 },
          { jobs: 10, runTime: 1 },
        ],
      },
      3,
    ],
    ['short ones whose turn comes before a worker has started', { waiting: [{ jobs: 100, runTime: 1 }] }, 1],
    ['so many short ones that the last begins after twice the time of a start', { waiting: [{ jobs: 1_000, runTime: 1 }] }, 3],
    ['the workers that start are enough', { waiting: [{ jobs: 2, runTime: 5_000 }], starting: 2 }, 3],
    ['the workers that start are not enough', { waiting: [{ jobs: 3, runTime: 5_000 }], starting: 2 }, 4],
    ['short ones, but nothing has begun for long', { waiting: [{ jobs: 1, runTime: 1 }], lastBegan: 9_399 }, 2],
    ['a short one that has waited for long itself', { waiting: [{ jobs: 1, runTime: 1 }], waited: 601 }, 2],
    ['starts fail', { startsFail: true }, 1],
  ])('%s', (_what, load, expected) => {
    expect(wanted(load)).toBe(expected)
  })

  it('are looked at in a node whose slots are free, too: their main threads do not turn', () => {
    const waiting = [{ jobs: 9, runTime: 1_500 }]
    expect(wanted({ waiting, running: 1 }, { concurrency: 10 })).toBe(10)
    expect(wanted({ waiting, running: 2, up: 2 }, { concurrency: 10 })).toBe(11)
    // Ten run in each.
    expect(wanted({ waiting: [{ jobs: 20, runTime: 1_500 }], running: 10 }, { concurrency: 10 })).toBe(3)
  })
})

describe('jobs that are ready in the queues', () => {
  const READY: Partial<Load> = { waiting: [], waited: 0, ready: { jobs: 5, runTime: 2_000 } }

  it('count from the first look that found them while no slot was free', () => {
    const growth = new Growth({ concurrency: 1, scaleUpAfter: 250, scaleUpBatch: 100, cpus: 2 })
    const at = (now: number, load: Partial<Load> = {}): number => growth.wanted({ ...BUSY, ...READY, lastBegan: now, now, ...load }, 100)
    expect([at(0), at(249)]).toEqual([1, 1])
    // A slot was free meanwhile.
    expect([at(250, { running: 0 }), at(500), at(749), at(750)]).toEqual([1, 1, 1, 6])
  })

  it('count together with those that wait in the node', () => {
    expect(wanted({ ready: { jobs: 3, runTime: 2_000 } })).toBe(5)
  })

  it('are late when some were there at each look for two starts, although their run times are short and jobs begin', () => {
    const growth = new Growth({ concurrency: 1, scaleUpAfter: 250, scaleUpBatch: 2, cpus: 2 })
    const at = (now: number, load: Partial<Load> = {}): number =>
      growth.wanted({ ...BUSY, waiting: [], waited: 0, ready: { jobs: 5, runTime: 1 }, lastBegan: now, now, ...load }, 100)
    expect([0, 250, 500, 600, 601].map((now) => at(now))).toEqual([1, 1, 1, 1, 3])
    // Workers have started: for as long again, the run times say what is needed.
    const three = { running: 3, up: 3 }
    expect([at(850, { starting: 2 }), at(1_100, three), at(1_450, three), at(1_451, three)]).toEqual([3, 3, 3, 5])
  })

  it('count on at looks that do not ask the broker, and where slots hold jobs that main threads do not accept', () => {
    const growth = new Growth({ concurrency: 2, scaleUpAfter: 250, scaleUpBatch: 2, cpus: 2 })
    const at = (now: number, load: Partial<Load> = {}): number =>
      growth.wanted(
        { ...BUSY, waiting: [{ jobs: 3, runTime: 30 }], waited: 30, running: 3, up: 3, ready: { jobs: 500, runTime: 30 }, lastBegan: now, now, ...load },
        100,
      )
    expect(at(0)).toBe(3)
    const notAsked = { asked: false, ready: { jobs: 0, runTime: 30 } }
    expect([at(250, notAsked), at(500, notAsked), at(600)]).toEqual([3, 3, 5])
  })

  it('count where a slot is free, too, if all room for jobs ahead was taken since the last look', () => {
    const growth = new Growth({ concurrency: 1, scaleUpAfter: 250, scaleUpBatch: 2, cpus: 2 })
    const at = (now: number, roomTaken: boolean): number =>
      growth.wanted({ ...BUSY, ...READY, ready: { jobs: 10_000, runTime: 0.2 }, running: 0, lastBegan: now, now, roomTaken }, 100)
    expect([at(0, true), at(250, true)]).toEqual([1, 3])
    expect([at(500, false), at(750, true), at(999, true), at(1_000, true)]).toEqual([1, 1, 1, 3])
  })

  it('are no reason to start a worker while a slot is free', () => {
    const growth = new Growth({ concurrency: 1, scaleUpAfter: 250, scaleUpBatch: 2, cpus: 2 })
    for (let now = 0; now < 5_000; now += 250) expect(growth.wanted({ ...BUSY, ...READY, running: 1, up: 2, now }, 100)).toBe(2)
  })

  it('are looked at again after a random time where several nodes see them', () => {
    const growth = new Growth({ concurrency: 1, scaleUpAfter: 250, scaleUpBatch: 100, cpus: 2, random: () => 0.5 })
    const at = (now: number, jobs = 5): number => growth.wanted({ ...BUSY, ...READY, ready: { jobs, runTime: 2_000 }, shared: true, now }, 100)
    expect([at(0), at(250), at(374), at(375)]).toEqual([1, 1, 1, 6])
    // Another node has taken them meanwhile.
    expect([at(400), at(500, 0), at(600), at(850), at(974), at(975)]).toEqual([1, 1, 1, 1, 1, 6])
  })
})

it('a broker that answers more slowly than the node looks delays the second look, and does not forbid it', () => {
  const growth = new Growth({ concurrency: 1, scaleUpAfter: 250, scaleUpBatch: 100, cpus: 2, random: () => 0.9 })
  const at = (now: number, asked: boolean): number =>
    growth.wanted({ ...BUSY, waiting: [], waited: 0, ready: { jobs: asked ? 5 : 0, runTime: 2_000 }, shared: true, asked, now }, 100)
  expect([at(0, true), at(250, false), at(500, true), at(750, false)]).toEqual([1, 1, 1, 1])
  expect(at(1_000, true)).toBe(6)
})

describe('bounds', () => {
  const many = [{ jobs: 50, runTime: 5_000 }]

  it('never more than the maximum, and never fewer than there are', () => {
    expect(wanted({ waiting: many }, {}, 7)).toBe(7)
    expect(wanted({ waiting: many, up: 9, running: 9 }, {}, 7)).toBe(9)
  })

  it('as many start at once as scaleUpBatch says, or as there are CPUs', () => {
    expect(wanted({ waiting: many }, { scaleUpBatch: 3 })).toBe(4)
    expect(wanted({ waiting: many }, { scaleUpBatch: 3, cpus: 8 })).toBe(9)
    expect(wanted({ waiting: many, starting: 2 }, { scaleUpBatch: 3 })).toBe(4)
  })

  it('beyond two for each CPU only while the workers leave one free', () => {
    expect(wanted({ waiting: many, cpuFree: false })).toBe(4)
    expect(wanted({ waiting: many, cpuFree: false, up: 4, running: 4 })).toBe(4)
    expect(wanted({ waiting: many, up: 4, running: 4 })).toBe(54)
  })
})
