/** What the file keeps of a job that has ended: its answer, and itself until others have ended. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StoreClock } from '../../../../src/queue/store/sqlite/database/clock.js'
import { Counters } from '../../../../src/queue/store/sqlite/database/counters.js'
import { type Database, openDatabase } from '../../../../src/queue/store/sqlite/database/node-sqlite.js'
import { MIGRATIONS, migrate, SCHEMA_VERSION, versionOf } from '../../../../src/queue/store/sqlite/database/schema.js'
import { prepareStatements } from '../../../../src/queue/store/sqlite/database/statements.js'
import { StoreContext } from '../../../../src/queue/store/sqlite/engine/context.js'
import { Liveness } from '../../../../src/queue/store/sqlite/engine/sessions.js'
import { type AnyOperation, apply } from '../../../../src/queue/store/sqlite/thread/operations.js'
import { ThreadState } from '../../../../src/queue/store/sqlite/thread/thread-state.js'
import { Transactions } from '../../../../src/queue/store/sqlite/thread/transactions.js'
import type { Claim, StoredJobData } from '../../../../src/queue/store/store.js'
import { newJob } from '../contract.js'
import { hasSqlite } from './files.js'

const COMPLETED = 4

describe.skipIf(!hasSqlite)('ended jobs in the file', () => {
  let database: Database

  beforeEach(() => {
    database = openDatabase(':memory:')
  })
  afterEach(() => database.close())

  const openProcess = () => {
    const time = { wall: () => Date.now(), monotonic: () => 1_000, boot: 'first' }
    const context = new StoreContext(database, new StoreClock(time))
    const state = new ThreadState(new Liveness(30_000))
    const transactions = new Transactions(database, context, state, () => {})
    const value = <T>(operation: AnyOperation): T => {
      const [result] = transactions.run([operation])
      if (result === undefined || result === 'later' || 'error' in result) throw new Error(`failed: ${JSON.stringify(result)}`)
      return result.value as T
    }
    return { value, read: (id: string) => apply(context, state, { op: 'read', queue: 'q', id }) as StoredJobData }
  }

  const complete = ({ value }: ReturnType<typeof openProcess>, id: string, answer: Uint8Array): void => {
    const session = value<number>({ op: 'openSession', name: 'n', schedulers: true })
    value({ op: 'add', jobs: [newJob({ id })] })
    const [lease] = value<Claim>({ op: 'claim', session, queues: ['q'], max: 1 }).jobs
    value({ op: 'settle', session, lease: lease!, outcome: { as: 'completed', answer } })
  }

  const stored = (id: string): unknown => {
    const row = database
      .prepare('SELECT length(job.answer) AS own, length(outcome.answer) AS apart FROM job LEFT JOIN outcome USING (seq) WHERE id = ?')
      .get(id)
    return { ...row }
  }

  it('keeps a short answer in the row of the job, and a long or empty one apart', () => {
    migrate(database)
    const process = openProcess()
    for (const length of [0, 1, 64, 65]) {
      const answer = new Uint8Array(length).fill(7)
      complete(process, `of ${length}`, answer)
      expect(process.read(`of ${length}`).answer).toEqual(answer)
    }
    expect(['of 0', 'of 1', 'of 64', 'of 65'].map(stored)).toEqual([
      { own: null, apart: 0 },
      { own: 1, apart: null },
      { own: 64, apart: null },
      { own: null, apart: 65 },
    ])
  })

  it('shows a damaged short answer as a failure of that job', () => {
    migrate(database)
    const process = openProcess()
    complete(process, 'damaged', new Uint8Array([1, 2, 3]))
    database.exec("UPDATE job SET answer = x'000000'")
    expect(process.read('damaged')).toMatchObject({ state: 'failed', error: { code: 'ERR_PREFORK_STORE_CORRUPT' } })
  })

  it('reads the answers of a file of the first schema', () => {
    migrate(database, MIGRATIONS.slice(0, 1))
    database.exec(`
      INSERT INTO queue (id, name) VALUES (1, 'q');
      INSERT INTO job (seq, queue, id, task, state, priority, timing, created_at, ended_at) VALUES (1, 1, 'old', 'work', 4, 0, 0, 1, 2);
      INSERT INTO counter VALUES (1, 4, 1, 1);
      INSERT INTO body VALUES (1, 0, x'');
      INSERT INTO outcome (seq, checksum, answer) VALUES (1, 1438416925, x'010203');
    `)
    migrate(database)
    expect(versionOf(database)).toBe(SCHEMA_VERSION)
    const process = openProcess()
    expect(process.read('old')).toMatchObject({ state: 'completed', answer: new Uint8Array([1, 2, 3]) })
    complete(process, 'new', new Uint8Array([4]))
    expect(process.read('new').answer).toEqual(new Uint8Array([4]))
  })

  describe('the number of those that are kept', () => {
    let counters: Counters

    /** One transaction in which as many end, to be kept until `count` more have. Returns what it is to remove. */
    const end = (jobs: number, count: number): unknown[] => {
      for (let job = 0; job < jobs; job++) counters.hasEnded(1, COMPLETED, count)
      counters.change(1, COMPLETED, jobs)
      const trims = [...counters.takeTrims()]
      counters.store()
      return trims.map(({ last, surplus }) => ({ last, surplus }))
    }

    beforeEach(() => {
      migrate(database)
      counters = new Counters(prepareStatements(database))
    })

    it('is exact at first, as others may have ended that are to be kept for less', () => {
      expect(end(9_999, 10_000)).toEqual([{ last: 9_999, surplus: 9_999 }])
      expect(end(1, 10_000)).toEqual([{ last: 10_000, surplus: 1 }])
      expect(end(1, 10_000)).toEqual([])
    })

    it('is up to 1 % more where it is large', () => {
      end(10_001, 10_000)
      expect(end(60, 10_000)).toEqual([])
      expect(end(39, 10_000)).toEqual([])
      expect(end(1, 10_000)).toEqual([{ last: 10_101, surplus: 100 }])
      expect(end(99, 10_000)).toEqual([])
    })

    it('is exact again while one may be there that is kept for less', () => {
      end(10_100, 10_000)
      expect(end(10, 10_000)).toEqual([])
      expect(end(1, 2)).toEqual([{ last: 10_111, surplus: 11 }])
      expect(end(2, 10_000)).toEqual([{ last: 10_113, surplus: 2 }])
      expect(end(1, 10_000)).toEqual([])
    })
  })
})
