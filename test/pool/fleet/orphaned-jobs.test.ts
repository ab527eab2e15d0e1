import { describe, expect, it } from 'vitest'
import { OrphanedJobs } from '../../../src/pool/fleet/orphaned-jobs.js'
import { Broadcast } from '../../../src/pool/jobs/broadcast.js'
import type { JobRecord } from '../../../src/pool/jobs/job.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'
import { makeJob, succeeded } from '../jobs/jobs.js'

const worker = (): PoolWorker => ({ isolatedRetries: [], pinned: [], isolatedRetry: undefined }) as unknown as PoolWorker

const shares = (broadcast: Broadcast, ...numbers: number[]): JobRecord[] =>
  numbers.map((number) => {
    const job = makeJob(number)
    job.broadcast = broadcast
    return job
  })

describe('shares of broadcasts', () => {
  it('go to one worker each, however many come back at once', () => {
    const leftovers = new OrphanedJobs()
    const jobs = shares(new Broadcast(), 1, 2, 3)
    leftovers.share(jobs)
    const first = worker()
    expect(leftovers.assignShares([first])).toBe(true)
    expect(leftovers.assignShares([first])).toBe(false)
    const [second, third] = [worker(), worker()]
    leftovers.assignShares([first, second, third])
    expect([first.pinned, second.pinned, third.pinned]).toEqual(jobs.map((job) => [job]))
    expect(leftovers.empty).toBe(true)
  })

  it('of several broadcasts go to the same worker', () => {
    const leftovers = new OrphanedJobs()
    const jobs = [...shares(new Broadcast(), 1), ...shares(new Broadcast(), 2)]
    leftovers.share(jobs)
    const one = worker()
    leftovers.assignShares([one])
    expect(one.pinned).toEqual(jobs)
  })

  it('that run again do so alone, where their broadcast has asked nobody', () => {
    const leftovers = new OrphanedJobs()
    const broadcast = new Broadcast()
    const [again] = shares(broadcast, 1)
    again!.attempt = 2
    const ordinary = makeJob(2)
    leftovers.group([again!, ordinary])
    const [asked, busy, free] = [worker(), worker(), worker()]
    broadcast.ask(asked)
    busy.isolatedRetries.push(makeJob(3))
    leftovers.assignGroups([asked])
    expect(asked.isolatedRetries).toEqual([ordinary])
    expect(leftovers.assignShares([asked, busy])).toBe(false)
    leftovers.assignShares([asked, busy, free])
    expect(free.isolatedRetries).toEqual([again])
  })

  it('are for nobody once all have been asked, and not before', () => {
    const leftovers = new OrphanedJobs()
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
    const leftovers = new OrphanedJobs()
    const [gone, cancelled] = shares(new Broadcast(), 1, 2)
    gone!.settle(succeeded(1))
    leftovers.share([gone!, cancelled!])
    cancelled!.settle(succeeded(2))
    const one = worker()
    leftovers.assignShares([one])
    expect([one.pinned, leftovers.empty]).toEqual([[], true])
  })
})
