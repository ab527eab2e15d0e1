import { describe, expect, it } from 'vitest'
import { OrphanedJobs } from '../../../src/pool/fleet/orphaned-jobs.js'
import { Broadcast } from '../../../src/pool/jobs/broadcast.js'
import type { JobRecord } from '../../../src/pool/jobs/job.js'
import { ReservedJobs } from '../../../src/pool/worker/reserved-jobs.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'
import { makeJob, succeeded } from '../jobs/jobs.js'

let lastId = 0
const makeWorker = (): PoolWorker => ({ id: ++lastId, reserved: new ReservedJobs() }) as unknown as PoolWorker

const shares = (broadcast: Broadcast, ...numbers: number[]): JobRecord[] =>
  numbers.map((number) => {
    const job = makeJob(number)
    job.broadcast = broadcast
    return job
  })

describe('shares of broadcasts', () => {
  it('go to one worker each, however many come back at once', () => {
    const orphans = new OrphanedJobs()
    const jobs = shares(new Broadcast(), 1, 2, 3)
    orphans.addShares(jobs)
    const first = makeWorker()
    expect(orphans.assignShares([first])).toBe(true)
    expect(orphans.assignShares([first])).toBe(false)
    const [second, third] = [makeWorker(), makeWorker()]
    orphans.assignShares([first, second, third])
    expect([first, second, third].map(({ reserved }) => reserved.takeShares())).toEqual(jobs.map((job) => [job]))
    expect(orphans.empty).toBe(true)
  })

  it('of several broadcasts go to the same worker', () => {
    const orphans = new OrphanedJobs()
    const jobs = [...shares(new Broadcast(), 1), ...shares(new Broadcast(), 2)]
    orphans.addShares(jobs)
    const one = makeWorker()
    orphans.assignShares([one])
    expect(one.reserved.takeShares()).toEqual(jobs)
  })

  it('that run again do so alone, in a worker that their broadcast has not asked', () => {
    const orphans = new OrphanedJobs()
    const broadcast = new Broadcast()
    const [again] = shares(broadcast, 1)
    again!.attempt = 2
    const ordinary = makeJob(2)
    orphans.addRetries([again!, ordinary])
    const [asked, busy, free] = [makeWorker(), makeWorker(), makeWorker()]
    broadcast.ask(asked)
    busy.reserved.isolate([makeJob(3)])
    orphans.assignGroups([asked])
    expect(asked.reserved.takeRetries()).toEqual([ordinary])
    expect(orphans.assignShares([asked, busy])).toBe(false)
    orphans.assignShares([asked, busy, free])
    expect(free.reserved.takeRetries()).toEqual([again])
  })

  it('cannot be answered once all workers have been asked, and not before', () => {
    const orphans = new OrphanedJobs()
    const broadcast = new Broadcast()
    const jobs = shares(broadcast, 1, 2)
    orphans.addShares(jobs)
    const [first, second] = [makeWorker(), makeWorker()]
    broadcast.ask(first)
    expect(orphans.takeUnanswerable([first, second])).toEqual([])
    expect(orphans.takeUnanswerable([first])).toEqual(jobs)
    expect(orphans.empty).toBe(true)
  })

  it('that have settled are forgotten', () => {
    const orphans = new OrphanedJobs()
    const [gone, cancelled] = shares(new Broadcast(), 1, 2)
    gone!.settle(succeeded(1))
    orphans.addShares([gone!, cancelled!])
    cancelled!.settle(succeeded(2))
    const one = makeWorker()
    orphans.assignShares([one])
    expect([one.reserved.takeShares(), orphans.empty]).toEqual([[], true])
  })
})
