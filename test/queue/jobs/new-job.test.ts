/** A delay as a queue asks for it, and a store whose wall clock was set since then. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newJob } from '../../../src/queue/jobs/new-job.js'
import { until } from '../../fixtures/until.js'
import { hasSqlite, StoreFile } from '../store/sqlite/files.js'

const HOUR = 3_600_000

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
