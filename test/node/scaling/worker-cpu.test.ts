import { describe, expect, it } from 'vitest'
import { WorkerCpu, type WorkerSample } from '../../../src/node/scaling/worker-cpu.js'

interface Work {
  /** Jobs that run at each look. */
  readonly running: number
  /** CPU time in each ms. */
  readonly share: number
  /** ms for which the main thread has not turned, at each heartbeat. */
  readonly stalled?: number
}

/** Looks at workers each 250 ms; each fourth look finds a new heartbeat. */
const play = (cpu: WorkerCpu, works: readonly Work[], { from = 0, ms = 3_000 } = {}): WorkerSample[] => {
  let samples: WorkerSample[] = []
  for (let now = from; now <= from + ms; now += 250) {
    const beat = Math.floor(now / 1_000) * 1_000
    samples = works.map(({ running, share, stalled = 0 }, id) => ({ id, state: 'up', running, cpu: beat * share + beat / 1e6, stalled }))
    cpu.look(samples, now)
  }
  return samples
}

const same = (n: number, work: Work): Work[] => Array.from({ length: n }, () => work)
const COMPUTES: Work = { running: 1, share: 1, stalled: 500 }
const BLOCKS: Work = { running: 1, share: 0, stalled: 500 }
const AWAITS: Work = { running: 4, share: 0.01 }

describe('whether a CPU is free', () => {
  it.each<[string, number, Work[], boolean]>([
    ['one of two computes', 2, [COMPUTES], true],
    ['two of two compute', 2, same(2, COMPUTES), false],
    ['many wait', 2, same(20, BLOCKS), true],
    ['a single one is used by less than half', 1, [{ running: 1, share: 0.45 }], true],
    ['a single one is used by more', 1, [{ running: 1, share: 0.6 }], false],
  ])('%s', (_what, cpus, works, expected) => {
    const cpu = new WorkerCpu(cpus)
    expect(cpu.isFree(play(cpu, works))).toBe(expected)
  })

  it('a job counts as one that computes until heartbeats have told, and as the others do where they have', () => {
    const cpu = new WorkerCpu(2)
    expect(cpu.used(play(cpu, same(3, BLOCKS), { ms: 500 }))).toBe(3)
    expect(cpu.used(play(cpu, same(3, BLOCKS), { from: 1_000 }))).toBeCloseTo(0)
    const more = play(cpu, same(6, BLOCKS), { from: 4_250, ms: 250 })
    expect(cpu.used(more)).toBeCloseTo(0)
  })

  it('a heartbeat that comes soon after a job has begun says nothing', () => {
    const cpu = new WorkerCpu(2)
    const at = (now: number, told: number, running = 1): number => {
      const samples: WorkerSample[] = [{ id: 1, state: 'busy', running, cpu: told, stalled: 0 }]
      cpu.look(samples, now)
      return cpu.used(samples)
    }
    at(0, 0, 0)
    expect([at(250, 60), at(500, 60)]).toEqual([1, 1])
    expect(at(1_250, 1_060)).toBeGreaterThan(0.8)
  })

  it('what starts beside jobs that compute takes their CPU time', () => {
    const cpu = new WorkerCpu(2)
    const samples = play(cpu, [{ running: 1, share: 0.5 }])
    expect(cpu.isFree(samples)).toBe(true)
    for (let now = 0; now <= 3_000; now += 250) cpu.noteStarting(2, now)
    expect(cpu.isFree(samples)).toBe(false)
    cpu.noteStarting(0, 6_000)
    expect(cpu.isFree(samples)).toBe(true)
  })
})

describe('the workers that jobs need at once', () => {
  const needed = (jobs: number, concurrency: number, works: readonly Work[]): number => {
    const cpu = new WorkerCpu(4)
    play(cpu, works, { ms: 10_000 })
    return cpu.needed(jobs, concurrency, [])
  }

  it('one for each job where a worker runs one', () => {
    expect(needed(3, 1, same(3, AWAITS))).toBe(3)
    expect(needed(3, 1, same(3, COMPUTES))).toBe(3)
  })

  it('one for `concurrency` jobs that leave their threads free', () => {
    expect(needed(20, 10, same(4, AWAITS))).toBe(2)
  })

  it('one for each job that computes, or holds its thread without', () => {
    expect(needed(4, 10, same(4, COMPUTES))).toBe(4)
    expect(needed(4, 10, same(4, BLOCKS))).toBe(4)
    // A heartbeat finds one in three held.
    expect(needed(6, 10, [BLOCKS, { ...BLOCKS, stalled: 0 }, { ...BLOCKS, stalled: 0 }])).toBe(6)
  })

  it('one for each job while nothing is known', () => {
    expect(new WorkerCpu(4).needed(5, 10, [])).toBe(5)
  })

  it('forgets what was long ago', () => {
    const cpu = new WorkerCpu(4)
    play(cpu, same(4, BLOCKS), { ms: 20_000 })
    play(cpu, same(4, { running: 5, share: 0.01 }), { from: 20_250, ms: 60_000 })
    expect(cpu.needed(20, 10, [])).toBe(2)
  })

  it('includes one for each main thread that is held now, whatever most jobs do', () => {
    const cpu = new WorkerCpu(4)
    const held: WorkerSample = { id: 1, state: 'busy', running: 1, cpu: 100, stalled: 5_000 }
    // Of many jobs, one was seen to hold its thread.
    for (let now = 0; now < 10_000; now += 250) cpu.look([{ ...held, running: 9, stalled: 0, cpu: now / 100 }], now)
    expect(cpu.needed(2, 10, [])).toBe(1)
    expect(cpu.needed(2, 10, [held])).toBe(2)
    expect(cpu.needed(1, 10, [held])).toBe(1)
    expect(cpu.needed(1, 10, [{ ...held, running: 0 }])).toBe(1)
  })
})
