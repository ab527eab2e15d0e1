import { beforeEach, describe, expect, it } from 'vitest'
import { Hub } from '../../../src/hub/index.js'
import type { Retirement } from '../../../src/pool/fleet/retirement.js'
import { StallDetector } from '../../../src/pool/fleet/stall-detector.js'
import type { JobRecord } from '../../../src/pool/jobs/job.js'
import type { PoolState } from '../../../src/pool/pool-state.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'
import { FakeClock } from '../../hub/fakes.js'

const TIMEOUT = 7_000
const ROUND = 1_000

/** What is read of a worker: one that was given a job, and has not taken it up. */
class StalledWorker {
  alive = true
  unusable = false
  isRetiring = false
  upAt = 1
  recalls = 0
  writing = false
  readonly heartbeats = { mainAge: 0 }
  readonly progress = { lastAt: 0, heldSince: 0 }
  readonly readers = []
  readonly writer = { bytes: 100 }
  readonly job = { name: 'parse' } as JobRecord
  readonly recorded = { acceptIfRecorded: () => {} }
  readonly jobs = { running: new Map<number, JobRecord>(), sent: { peek: (): JobRecord | undefined => this.job } }
}

describe('a worker that stalls without a job', () => {
  let clock: FakeClock
  let worker: StalledWorker
  let detector: StallDetector
  let quarantined: string[]
  beforeEach(() => {
    clock = new FakeClock()
    worker = new StalledWorker()
    quarantined = []
    const retirement = { quarantine: (_: PoolWorker, why: string) => quarantined.push(why) }
    const { hub, settings, workers } = {
      hub: new Hub(clock),
      settings: { heartbeatTimeout: TIMEOUT, maintainInterval: ROUND },
      workers: new Map([[1, worker as unknown as PoolWorker]]),
    }
    detector = new StallDetector({ hub, settings, workers } as unknown as PoolState, retirement as unknown as Retirement)
  })

  const look = (rounds: number, each: () => void = () => {}): void => {
    for (let round = 0; round < rounds; round++) {
      clock.time += ROUND
      each()
      detector.scan(0)
      clock.pollUntilQuiet()
    }
  }
  const beat = (age: number): void => {
    worker.heartbeats.mainAge = age
    detector.heartbeat(worker as unknown as PoolWorker)
    clock.pollUntilQuiet()
  }

  it('is quarantined when it has not accepted a job within the timeout', () => {
    look(6)
    expect(quarantined).toEqual([])
    look(1)
    expect(quarantined).toEqual(["It had not taken up the job 'parse' within 7000 ms while no job ran."])
  })

  it('is not, while a large job is still being written to it', () => {
    worker.writing = true
    look(20, () => {
      worker.writer.bytes += 1
    })
    // Nothing moves for six scans, however long it was on its way before.
    look(6)
    expect(quarantined).toEqual([])
    look(1)
    expect(quarantined).toHaveLength(1)
  })

  it.each([
    ['read what was written to it', { writing: true }],
    ['given back what it was asked for', { recalls: 1 }],
  ])('is quarantined as well where it holds no job and has not %s', (what, held) => {
    Object.assign(worker, held)
    worker.jobs.sent.peek = () => undefined
    // The first scan finds it so.
    look(7)
    expect(quarantined).toEqual([])
    look(1)
    expect(quarantined).toEqual([`It had not ${what} within 7000 ms while no job ran.`])
  })

  it('is not, while it runs a job, or when it retires or is about to be killed', () => {
    worker.jobs.running.set(1, worker.job)
    look(20)
    worker.jobs.running.clear()
    worker.isRetiring = true
    look(20)
    worker.isRetiring = false
    worker.unusable = true
    look(20)
    expect(quarantined).toEqual([])
  })

  it('is not, if it moves while its pipes are read to their end', () => {
    look(6)
    clock.beforePoll = () => {
      worker.progress.lastAt = clock.time
    }
    look(1)
    expect(quarantined).toEqual([])
  })

  it.each([
    ['gives the job back', () => Object.assign(worker.jobs.sent, { peek: () => undefined })],
    ['answers what it was asked', () => Object.assign(worker, { recalls: 0 })],
    ['reads what was written to it', () => Object.assign(worker, { writing: false })],
  ])('nor if it %s then', (what, answer) => {
    if (what !== 'gives the job back') {
      worker.jobs.sent.peek = () => undefined
      Object.assign(worker, what.startsWith('answers') ? { recalls: 1 } : { writing: true })
      look(1)
    }
    look(6)
    clock.beforePoll = () => void answer()
    look(1)
    expect(quarantined).toEqual([])
  })

  it('nor if a heartbeat comes then by which its main thread turns', () => {
    beat(TIMEOUT)
    clock.beforePoll = () => {
      clock.beforePoll = () => {}
      worker.heartbeats.mainAge = 0
      detector.heartbeat(worker as unknown as PoolWorker)
    }
    beat(TIMEOUT + 1_000)
    expect(quarantined).toEqual([])
  })

  it('is not, by a scan that came late: the whole machine was paused', () => {
    look(6)
    clock.time += 60_000
    detector.scan(60_000)
    clock.pollUntilQuiet()
    expect(quarantined).toEqual([])
  })

  it('is found by two heartbeats in a row, not by one', () => {
    beat(TIMEOUT)
    beat(0)
    beat(TIMEOUT)
    expect(quarantined).toEqual([])
    beat(TIMEOUT + 1_000)
    expect(quarantined).toEqual([expect.stringContaining('had not turned for 7000 ms while no job ran')])
  })

  it('is not found by heartbeats while a job runs', () => {
    worker.jobs.running.set(1, worker.job)
    beat(TIMEOUT)
    beat(2 * TIMEOUT)
    expect(quarantined).toEqual([])
  })

  it('is not found by a heartbeat that was sent while a job ran and is read after its answer', () => {
    worker.jobs.running.set(1, worker.job)
    beat(TIMEOUT)
    beat(TIMEOUT + 1_000)
    worker.jobs.running.clear()
    beat(TIMEOUT + 2_000)
    beat(0)
    expect(quarantined).toEqual([])
  })
})
