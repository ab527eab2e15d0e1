import { expect, it } from 'vitest'
import { cancelled, cancelledAtTheEnd, crowd, dueAtOnce, expired, limited, paused } from '../../queue-soak/crowd.js'
import { describeProofs, expectKept } from './prove.js'

describeProofs('several processes on one file', () => {
  it('each of four takes its part, and no job begins twice', async () => {
    const report = await crowd(4, 2_000)
    expectKept(report)
    expect(String(report.figures.shares).split(' ')).toHaveLength(4)
  }, 180_000)

  it('thousands of jobs that are due at once run once each', async () => {
    expectKept(await dueAtOnce(3_000))
  }, 180_000)

  it('a rate limit is kept by all of them together, and other queues go on', async () => {
    expectKept(await limited(31))
  })

  it('a pause stops what is claimed and has not begun, and outlives the node', async () => {
    expectKept(await paused())
  })

  it('a busy loop that is cancelled ends as cancelled, and nothing beside it', async () => {
    expectKept(await cancelled())
  })

  it('what a cancellation has named does not complete', async () => {
    expectKept(await cancelledAtTheEnd(30))
  })

  it('a job expires while there is no worker, and never runs', async () => {
    expectKept(await expired())
  })
})
