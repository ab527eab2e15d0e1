import { expect, test } from 'vitest'
import { ReservedJobs } from '../../../src/pool/worker/reserved-jobs.js'
import { makeJob, succeeded } from '../jobs/jobs.js'

test('a recalled job takes its old place among the isolated retries, or among the shares', () => {
  const reserved = new ReservedJobs()
  const [first, second, third] = [makeJob(1), makeJob(2), makeJob(3)]
  reserved.isolate([second, third])
  reserved.putBackRetry(first)
  expect([reserved.nextRetry(), ...reserved.takeRetries()]).toEqual([first, second, third])
  reserved.addShare(third)
  reserved.putBackShare(second)
  expect([reserved.nextShare(), ...reserved.takeShares()]).toEqual([second, third])
  expect([reserved.idle, reserved.empty]).toEqual([true, true])
})

test('the isolation of a retry ends when it has settled, has brought an item, or was recalled', () => {
  for (const end of ['settled', 'streamed', 'queued'] as const) {
    const reserved = new ReservedJobs()
    const job = makeJob(1)
    job.state = 'accepted'
    reserved.beginRetry(job)
    reserved.endRetry()
    expect([reserved.isolated, reserved.idle, reserved.empty]).toEqual([true, false, true])
    if (end === 'settled') job.settle(succeeded(1))
    else if (end === 'streamed') job.streamed = true
    else job.state = 'queued'
    reserved.endRetry()
    expect(reserved.isolated).toBe(false)
  }
})
