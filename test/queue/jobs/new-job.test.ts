import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newJob, newJobId } from '../../../src/queue/jobs/new-job.js'
import { until } from '../../fixtures/until.js'
import { hasSqlite, StoreFile } from '../store/sqlite/files.js'

const HOUR = 3_600_000

/** The wall clock of the store was set since then. */
describe.skipIf(!hasSqlite)('a delay', () => {
  let file: StoreFile

  beforeEach(() => {
    file = new StoreFile()
  })
  afterEach(() => file.remove())

  it('that was asked for before the wall clock was set back by an hour is not an hour longer', async () => {
    const wallOffset = new Float64Array(new SharedArrayBuffer(8))
    wallOffset[0] = -HOUR
    const options = { lease: 30_000, wallOffset }
    const store = file.make(options)
    await store.open()
    const queue = { name: 'q', defaults: {}, maxBodySize: 1_000 }
    await store.add([newJob('queue.add', queue, 'work', [], { id: 'a', delay: 500 })])
    expect((await store.read('q', 'a'))!.state).toBe('delayed')
    const session = await store.openSession({ name: 'n', schedulers: true })
    await until('it is claimed', async () => (await session.claim(['q'], 1)).jobs.length === 1)
    await store.close()
  })
})

it('an id is a UUID, and greater than those before it, also within one millisecond and when the clock is set back', () => {
  const now = Date.now() + 1_000
  const ids = [...Array.from({ length: 10_000 }, () => newJobId(now)), newJobId(now - 500), newJobId(now + 500)]
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.toSorted()).toEqual(ids)
})

it('an id names the time', () => {
  const now = Date.now() + 10_000
  expect(Number.parseInt(newJobId(now).replace('-', '').slice(0, 12), 16)).toBe(now)
})
