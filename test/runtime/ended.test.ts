import { Runtime } from 'prefork/runtime'
import { expect, it } from 'vitest'
import type { ActiveJob } from '../../src/runtime/active-job.js'
import type { Delivery, Settlement, SettleResult } from '../../src/runtime/delivery.js'
import { type Outcome, Settler, UnsentReplies } from '../../src/runtime/settler.js'
import { FIRST_DELIVERY, NO_ERROR, storedMessage } from '../fixtures/memory-broker.js'
import { fixture, startPool } from '../fixtures/pools.js'
import { until } from '../fixtures/support.js'

/** Makes deliveries with scripted answers to their settlement; `ended` lists the ids in the order of their ended() calls. */
const setUp = () => {
  const settler = new Settler(undefined, new UnsentReplies(undefined, 10))
  const ended: string[] = []
  const delivery = (id: string, answer: (settlement: Settlement) => SettleResult | Promise<SettleResult> = () => ({ settled: true, published: false })) => {
    const lease = new AbortController()
    const made: Delivery = {
      id,
      ...FIRST_DELIVERY,
      gone: lease.signal,
      settle: answer,
      reply: async () => {},
      ended: () => ended.push(id),
    }
    return { made, lease }
  }
  return { settler, ended, delivery }
}

const outcome = (settlement: Settlement): Outcome => ({ settlement, remembered: true, reply: undefined, settling: undefined })
const acknowledge: Settlement = { kind: 'acknowledge' }
const republish: Settlement = { kind: 'republish', why: 'failed', error: NO_ERROR, delay: 0, counts: { attempt: 2, losses: 0, requeues: 0 }, history: [] }
const refuse = (): never => {
  throw new Error('refused')
}

it('ended() is called once for a delivery that is gone when its job ends, and not for a settled one', async () => {
  const { settler, ended, delivery } = setUp()
  const alone = delivery('alone')
  alone.lease.abort()
  settler.settle([alone.made], outcome(acknowledge))
  const [first, second] = [delivery('first'), delivery('second')]
  first.lease.abort()
  settler.settle([first.made, second.made], outcome(republish))
  // ended() is not called synchronously.
  expect(ended).toEqual([])
  await settler.idle()
  expect(ended).toEqual(['alone', 'first'])
  // The result of settle() says that the delivery was gone, so ended() is not called.
  const late = delivery('late', async () => ({ settled: false, published: false }))
  settler.settle([late.made], outcome(acknowledge))
  await settler.idle()
  expect(ended).toHaveLength(2)
})

it('ended() is called for a delivery that goes while its refused settlement waits for a retry', async () => {
  const { settler, ended, delivery } = setUp()
  const { made, lease } = delivery('refused', () => {
    setImmediate(() => lease.abort())
    return refuse()
  })
  settler.settle([made], outcome(republish))
  await settler.idle()
  await until('ended() is called', () => ended.length > 0)
  expect(ended).toEqual(['refused'])
})

it('ended() is called for a delivery whose settlement was never possible, once it is gone', async () => {
  const { settler, ended, delivery } = setUp()
  const { made, lease } = delivery('stuck', refuse)
  settler.stopRetrying()
  settler.settle([made], outcome(acknowledge))
  await settler.idle()
  expect(ended).toEqual([])
  lease.abort()
  await until('ended() is called', () => ended.length > 0)
  expect(ended).toEqual(['stuck'])
})

it('ended() is not called for a delivery whose settlement found it gone', async () => {
  const pool = await startPool({ watchdog: false, tasks: fixture('farm-tasks.js') })
  const runtime = new Runtime(pool as never, { node: 'n', report: () => {} })
  const { ended, delivery } = setUp()
  const { made, lease } = delivery('lost', () => {
    lease.abort()
    return { settled: false, published: false }
  })
  runtime.receive({ ...made, body: storedMessage('lost', 'echo', [1], {}).body })
  await runtime.empty()
  await new Promise((resolve) => setImmediate(resolve))
  expect(runtime.stats.totals).toMatchObject({ received: 1, succeeded: 0, refused: 1 })
  expect(ended).toEqual([])
})

it('the end of a run that is asked for when its delivery is gone is not asked of a job whose worker died', () => {
  const { delivery } = setUp()
  for (const died of [false, true]) {
    const asked: string[] = []
    const poolJob = { cancel: () => asked.push('cancel'), withdrawUnlessRunning: () => asked.push('withdraw') }
    let follower: ActiveJob | undefined
    const submitFollowed = (_name: string, _args: unknown, _options: unknown, job: ActiveJob): unknown => {
      follower = job
      return poolJob
    }
    const pool = { on: () => {}, off: () => {}, tasks: ['echo'], taskInfo: () => ({}), submitFollowed }
    const runtime = new Runtime(pool as never, { node: 'n', report: () => {} })
    const { made, lease } = delivery('x')
    runtime.receive({ ...made, body: storedMessage('x', 'echo', [1], {}).body, endWhenGone: true })
    follower!.began(poolJob as never, 1)
    if (died) follower!.retried(poolJob as never, 1, 'it died')
    lease.abort()
    expect(asked).toEqual([died ? 'withdraw' : 'cancel'])
  }
})
