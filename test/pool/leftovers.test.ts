import { describe, expect, it } from 'vitest'
import { Broadcast } from '../../src/pool/broadcast.js'
import type { JobRecord } from '../../src/pool/job.js'
import { Leftovers } from '../../src/pool/leftovers.js'
import type { PoolWorker } from '../../src/pool/worker.js'
import { makeJob, succeeded } from './jobs.js'

const worker = (): PoolWorker => ({ suspects: [], pinned: [], suspect: undefined }) as unknown as PoolWorker

const shares = (broadcast: Broadcast, ...numbers: number[]): JobRecord[] =>
  numbers.map((number) => {
    const job = makeJob(number)
    job.broadcast = broadcast
    return job
  })

describe('shares of broadcasts', () => {
  it('go to one worker each, however many come back at once', () => {
    const leftovers = new Leftovers()
    const jobs = shares(new Broadcast(), 1, 2, 3)
    leftovers.share(jobs)
    const first = worker()
    expect(leftovers.handOutShares([first])).toBe(true)
    expect(leftovers.handOutShares([first])).toBe(false)
    const [second, third] = [worker(), worker()]
    leftovers.handOutShares([first, second, third])
    expect([first.pinned, second.pinned, third.pinned]).toEqual(jobs.map((job) => [job]))
    expect(leftovers.empty).toBe(true)
  })

  it('of several broadcasts go to the same worker', () => {
    const leftovers = new Leftovers()
    const jobs = [...shares(new Broadcast(), 1), ...shares(new Broadcast(), 2)]
    leftovers.share(jobs)
    const one = worker()
    leftovers.handOutShares([one])
    expect(one.pinned).toEqual(jobs)
  })

  it('that run again do so alone, where their broadcast has asked nobody', () => {
    const leftovers = new Leftovers()
    const broadcast = new Broadcast()
    const [again] = shares(broadcast, 1)
    again!.attempt = 2
    const ordinary = makeJob(2)
    leftovers.group([again!, ordinary])
    const [asked, busy, free] = [worker(), worker(), worker()]
    broadcast.ask(asked)
    busy.suspects.push(makeJob(3))
    leftovers.handOut([asked])
    expect(asked.suspects).toEqual([ordinary])
    expect(leftovers.handOutShares([asked, busy])).toBe(false)
    leftovers.handOutShares([asked, busy, free])
    expect(free.suspects).toEqual([again])
  })

  it('are for nobody once all have been asked, and not before', () => {
    const leftovers = new Leftovers()
    const broadcast = new Broadcast()
    const jobs = shares(broadcast, 1, 2)
    leftovers.share(jobs)
    const [first, second] = [worker(), worker()]
    broadcast.ask(first)
    expect(leftovers.unanswerable([first, second])).toEqual([])
    expect(leftovers.unanswerable([first])).toEqual(jobs)
    expect(leftovers.empty).toBe(true)
  })

  it('that have settled are forgotten', () => {
    const leftovers = new Leftovers()
    const [gone, cancelled] = shares(new Broadcast(), 1, 2)
    gone!.settle(succeeded(1))
    leftovers.share([gone!, cancelled!])
    cancelled!.settle(succeeded(2))
    const one = worker()
    leftovers.handOutShares([one])
    expect([one.pinned, leftovers.empty]).toEqual([[], true])
  })
})
