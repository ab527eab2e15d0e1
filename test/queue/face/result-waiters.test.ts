/** When results are looked for. That they arrive is shown by run.test.ts. */
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ResultWaiters } from '../../../src/queue/face/result-waiters.js'
import { makeStore } from '../../../src/queue/store/make-store.js'
import type { Store, StoreSession } from '../../../src/queue/store/store.js'
import { encodeReply } from '../../../src/runtime/message/reply.js'
import { fakeTime } from '../../fixtures/fake-time.js'
import { newJob } from '../store/contract.js'

let store: Store
let session: StoreSession
let waiters: ResultWaiters

const addJob = async (id: string): Promise<number> => {
  const [added] = await store.add([newJob({ id })])
  return added!.seq
}
const complete = async (value: unknown): Promise<void> => {
  const { jobs } = await session.claim(['q'], 1)
  await session.settle(jobs[0]!, { as: 'completed', answer: encodeReply({ ok: true, value }) })
}

beforeEach(async () => {
  store = await makeStore('memory:result-waiters-test')
  await store.open()
  session = await store.openSession({ name: 'n', schedulers: true })
  waiters = new ResultWaiters(store, 'q')
})
afterEach(async () => {
  waiters.close()
  await session.close()
  await store.close()
})

it('results that are waited for one after the other share a watch', async () => {
  const watch = vi.spyOn(store, 'watch')
  for (const id of ['a', 'b']) {
    const result = waiters.wait(id, await addJob(id), {})
    await complete(id)
    expect(await result).toBe(id)
  }
  expect(watch).toHaveBeenCalledTimes(1)
})

it('the watch ends when nobody waits for a time', async () => {
  fakeTime('setTimeout', 'clearTimeout')
  const unwatch = vi.fn()
  vi.spyOn(store, 'watch').mockReturnValue(unwatch)
  const seq = await addJob('a')
  await complete('done')
  expect(await waiters.wait('a', seq, {})).toBe('done')
  expect(unwatch).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(unwatch).toHaveBeenCalledTimes(1)
})

it('an end of which another process did not tell, as it knew of no watch, is found before the next look at all', async () => {
  fakeTime('setTimeout', 'clearTimeout', 'setInterval', 'clearInterval')
  vi.spyOn(store, 'watch').mockReturnValue(() => {})
  const ended = vi.fn()
  void waiters.wait('a', await addJob('a'), {}).then(ended)
  await turn()
  await complete('done')
  await turn()
  expect(ended).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(500)
  await turn()
  expect(ended).toHaveBeenCalledWith('done')
})
