import { beforeEach, describe, expect, it } from 'vitest'
import { Hub } from '../../../src/hub/index.js'
import { StallDetector } from '../../../src/pool/fleet/stall-detector.js'
import type { JobRecord } from '../../../src/pool/jobs/job.js'
import type { PoolState } from '../../../src/pool/pool-state.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'
import { FakeClock } from '../../hub/fakes.js'

const TIMEOUT = 7_000
const ROUND = 1_000

/** What is looked at of a worker: one that was given a job, and has not taken it up. */
class Given {
  alive = true
  unusable = false
  state = 'busy'
  upAt = 1
  mainAge = 0
  stalledBeats = 0
  recalls = 0
  writing = false
  lastProgressAt = 0
  heldSince = 0
  readonly readers = []
  readonly writer = { bytes: 100 }
  readonly job = { name: 'parse' } as JobRecord
  readonly jobs = { running: new Map<number, JobRecord>(), sent: { peek: (): JobRecord | undefined => this.job } }
}

describe('a worker that stands still', () => {
  let clock: FakeClock
  let worker: Given
  let standstill: StallDetector
  let ended: string[]
  beforeEach(() => {
    clock = new FakeClock()
    worker = new Given()
    ended = []
    const { hub, settings, workers } = {
      hub: new Hub(clock),
      settings: { heartbeatTimeout: TIMEOUT, maintainInterval: ROUND },
      workers: new Map([[1, worker as unknown as PoolWorker]]),
    }
    standstill = new StallDetector({ hub, settings, workers } as unknown as PoolState, (_, why) => ended.push(why))
  })

  const look = (rounds: number, each: () => void = () => {}): void => {
    for (let round = 0; round < rounds; round++) {
      clock.time += ROUND
      each()
      standstill.scan(0)
      clock.pollUntilQuiet()
    }
  }
  const beat = (age: number): void => {
    worker.mainAge = age
    standstill.heartbeat(worker as unknown as PoolWorker)
    clock.pollUntilQuiet()
  }

  it('is ended once a job has lain there for the timeout', () => {
    look(6)
    expect(ended).toEqual([])
    look(1)
    expect(ended).toEqual(["It had not taken up the job 'parse' within 7000 ms while no job ran."])
  })

  it('is not, while a large job is still being written to it', () => {
    worker.writing = true
    look(20, () => {
      worker.writer.bytes += 1
    })
    // Nothing moves for six rounds, however long it was on its way before.
    look(6)
    expect(ended).toEqual([])
    look(1)
    expect(ended).toHaveLength(1)
  })

  it.each([
    ['read what was written to it', { writing: true }],
    ['given back what it was asked for', { recalls: 1 }],
  ])('is ended as well where it holds no job and has not %s', (what, held) => {
    Object.assign(worker, held)
    worker.jobs.sent.peek = () => undefined
    // The first round finds it so.
    look(7)
    expect(ended).toEqual([])
    look(1)
    expect(ended).toEqual([`It had not ${what} within 7000 ms while no job ran.`])
  })

  it('is not, while it runs a job, or when it is about to leave or to be killed', () => {
    worker.jobs.running.set(1, worker.job)
    look(20)
    worker.jobs.running.clear()
    worker.state = 'retiring'
    look(20)
    worker.state = 'busy'
    worker.unusable = true
    look(20)
    expect(ended).toEqual([])
  })

  it('is not, if it moves while its pipes are read to their end', () => {
    look(6)
    clock.beforePoll = () => {
      worker.lastProgressAt = clock.time
    }
    look(1)
    expect(ended).toEqual([])
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
    expect(ended).toEqual([])
  })

  it('nor if a heartbeat that says that it turns comes then', () => {
    beat(TIMEOUT)
    clock.beforePoll = () => {
      clock.beforePoll = () => {}
      worker.mainAge = 0
      standstill.heartbeat(worker as unknown as PoolWorker)
    }
    beat(TIMEOUT + 1_000)
    expect(ended).toEqual([])
  })

  it('is not judged by a round that came late: the machine stood still', () => {
    look(6)
    clock.time += 60_000
    standstill.scan(60_000)
    clock.pollUntilQuiet()
    expect(ended).toEqual([])
  })

  it('is told by two heartbeats in a row, not by one', () => {
    beat(TIMEOUT)
    beat(0)
    beat(TIMEOUT)
    expect(ended).toEqual([])
    beat(TIMEOUT + 1_000)
    expect(ended).toEqual([expect.stringContaining('had not turned for 7000 ms while no job ran')])
  })

  it('is not told by heartbeats while a job runs', () => {
    worker.jobs.running.set(1, worker.job)
    beat(TIMEOUT)
    beat(2 * TIMEOUT)
    expect(ended).toEqual([])
  })
})
