/** The operations on a file, without a thread: their plans, the clock, and what one transaction does. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StoreClock, type TimeSource } from '../../../../src/queue/store/sqlite/database/clock.js'
import { type Database, openDatabase, type Statement } from '../../../../src/queue/store/sqlite/database/node-sqlite.js'
import { migrate, versionOf } from '../../../../src/queue/store/sqlite/database/schema.js'
import { SQL } from '../../../../src/queue/store/sqlite/database/statements.js'
import type { Altered } from '../../../../src/queue/store/sqlite/engine/alter.js'
import { StoreContext } from '../../../../src/queue/store/sqlite/engine/context.js'
import type { Found } from '../../../../src/queue/store/sqlite/engine/find.js'
import { Liveness, type SessionRow } from '../../../../src/queue/store/sqlite/engine/sessions.js'
import { isAtLeast, networkFileSystem } from '../../../../src/queue/store/sqlite/thread/open-file.js'
import type { AnyOperation, Beat } from '../../../../src/queue/store/sqlite/thread/operations.js'
import { PendingOperations } from '../../../../src/queue/store/sqlite/thread/pending.js'
import { ThreadState } from '../../../../src/queue/store/sqlite/thread/thread-state.js'
import { type Result, Transactions } from '../../../../src/queue/store/sqlite/thread/transactions.js'
import type { Claim, JobChange, JobSelector, JobState, NewJob, StoredSchedule } from '../../../../src/queue/store/store.js'
import { newJob } from '../contract.js'
import { hasSqlite, StoreFile } from './files.js'

const HOUR = 3_600_000

describe.skipIf(!hasSqlite)('the engine', () => {
  let database: Database
  let time: { wallNow: number; monotonicNow: number; boot: string }
  let commits: number

  const source = (): TimeSource => ({
    wall: () => time.wallNow,
    monotonic: () => time.monotonicNow,
    get boot() {
      return time.boot
    },
  })
  const pass = (ms: number): void => {
    time.wallNow += ms
    time.monotonicNow += ms
  }
  let rowsRead = 0
  /** `after`: called after each statement that reads rows. */
  const watched = (connection: Database, after: (sql: string) => void): Database => ({
    exec: (sql) => connection.exec(sql),
    close: () => connection.close(),
    prepare: (sql) => {
      const statement = connection.prepare(sql)
      return {
        run: (...parameters) => statement.run(...parameters),
        get: (...parameters) => statement.get(...parameters),
        all: (...parameters) => {
          const rows = statement.all(...parameters)
          rowsRead += rows.length
          after(sql)
          return rows
        },
      }
    },
  })
  interface Opened {
    readonly run: (...operations: AnyOperation[]) => Result[]
    readonly value: <T>(operation: AnyOperation) => T
    readonly state: ThreadState
    readonly transactions: Transactions
  }
  /** A process on the database. */
  const openProcess = (connection = database, after: (sql: string) => void = () => {}, own = watched(connection, after)): Opened => {
    const state = new ThreadState(new Liveness(30_000))
    const transactions = new Transactions(own, new StoreContext(own, new StoreClock(source())), state, () => {
      commits++
    })
    const run = (...operations: AnyOperation[]): Result[] => transactions.run(operations)
    const value = <T>(operation: AnyOperation): T => {
      const [result] = run(operation)
      if (result === undefined || typeof result === 'string' || 'error' in result) throw new Error(`failed: ${JSON.stringify(result)}`)
      return result.value as T
    }
    return { run, value, state, transactions }
  }
  const all = (sql: string): unknown[] =>
    database
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }))
  const states = (): unknown[] => all('SELECT id, state FROM job ORDER BY seq')

  beforeEach(() => {
    database = openDatabase(':memory:')
    migrate(database)
    time = { wallNow: Date.now(), monotonicNow: 1_000, boot: 'first' }
    commits = 0
  })
  afterEach(() => database.close())

  it('has no statement that scans or sorts', () => {
    const plans = Object.entries(SQL).map(([name, sql]) => {
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
      return `${name}: ${steps.map(({ detail }) => detail).join('; ')}`
    })
    expect(plans.length).toBeGreaterThan(60)
    expect(plans.filter((plan) => /\bSCAN\b|TEMP B-TREE/.test(plan))).toEqual([])
  })

  it('has each commit run no statement that SQLite prepares again', ({ skip }) => {
    const counted: { stat?(counter: string): number }[] = []
    const connection: Database = {
      exec: (sql) => database.exec(sql),
      close: () => database.close(),
      prepare: (sql) => {
        const statement = database.prepare(sql)
        counted.push(statement as { stat?(counter: string): number })
        return statement
      },
    }
    if ((database.prepare('SELECT 1') as { stat?: unknown }).stat === undefined) skip('this Node does not count it: 26 does')
    const process = openProcess(undefined, undefined, connection)
    const session = process.value<number>({ op: 'openSession', name: 'n', schedulers: true })
    const keep = { completed: { count: 1 } }
    process.value({ op: 'add', jobs: Array.from({ length: 40 }, (_, index) => newJob({ id: `${index}`, options: { keep } })) })
    const prepared = (): number => counted.reduce((sum, statement) => sum + statement.stat!('reprepare'), 0)
    let before = 0
    for (let max = 1; max < 8; max++) {
      const { jobs } = process.value<Claim>({ op: 'claim', session, queues: ['q'], max })
      expect(jobs.length).toBe(max)
      for (const lease of jobs) process.value({ op: 'settle', session, lease, outcome: { as: 'completed', answer: new Uint8Array(1) } })
      // The first times SQLite may learn that a parameter counts.
      if (max === 2) before = prepared()
    }
    expect(prepared() - before).toBe(0)
  })

  it('reads the row of a completed job again only when it was cancelled or is awaited', () => {
    const read: string[] = []
    const process = openProcess(database, () => {}, {
      exec: (sql) => database.exec(sql),
      close: () => database.close(),
      prepare: (sql) => {
        const statement = database.prepare(sql)
        const get: Statement['get'] = (...parameters) => {
          read.push(sql)
          return statement.get(...parameters)
        }
        return { run: (...parameters) => statement.run(...parameters), get, all: (...parameters) => statement.all(...parameters) }
      },
    })
    const session = process.value<number>({ op: 'openSession', name: 'n', schedulers: true })
    process.value({ op: 'add', jobs: ['plain', 'cancelled', 'awaited'].map((id) => newJob({ id })) })
    const { jobs } = process.value<Claim>({ op: 'claim', session, queues: ['q'], max: 3 })
    process.value({ op: 'alter', selector: { queue: 'q', ids: ['cancelled'] }, change: 'cancel' })
    process.value({ op: 'add', jobs: [newJob({ id: 'after', dependsOn: ['awaited'] })] })
    const outcomes = jobs.map((lease) => {
      read.length = 0
      const settled = process.value({ op: 'settle', session, lease, outcome: { as: 'completed', answer: new Uint8Array(1) } })
      return [lease.id, settled, read.includes(SQL.claimed)]
    })
    expect(outcomes).toEqual([
      ['plain', true, false],
      ['cancelled', false, true],
      ['awaited', true, true],
    ])
    expect(states()).toEqual([
      { id: 'plain', state: 4 },
      { id: 'cancelled', state: 7 },
      { id: 'awaited', state: 4 },
      { id: 'after', state: 0 },
    ])
  })

  it('refuses a completion whose claim another process has ended, whatever is remembered of it', () => {
    const [mine, other] = [openProcess(), openProcess()]
    const [dead, session] = [mine, other].map(({ value }) => value<number>({ op: 'openSession', name: 'n', schedulers: true })) as [number, number]
    const completed = { as: 'completed', answer: new Uint8Array(1) } as const
    mine.value({ op: 'add', jobs: [newJob({ id: 'waits' }), newJob({ id: 'elsewhere' })] })
    const { jobs } = mine.value<Claim>({ op: 'claim', session: dead, queues: ['q'], max: 2 })
    other.value({ op: 'sweepSession', session: dead, beat: 0 })
    const again = other.value<Claim>({ op: 'claim', session, queues: ['q'], max: 1 })
    expect(again.jobs.map(({ id, token }) => [id, token])).toEqual([['waits', 2]])
    expect(jobs.map((lease) => mine.value({ op: 'settle', session: dead, lease, outcome: completed }))).toEqual([false, false])
    expect(states()).toEqual([
      { id: 'waits', state: 2 },
      { id: 'elsewhere', state: 0 },
    ])
    expect(other.value({ op: 'settle', session, lease: again.jobs[0]!, outcome: completed })).toBe(true)
  })

  it('migrates once, and all or nothing', () => {
    const versions = ['CREATE TABLE a (x)', 'CREATE TABLE b (x)']
    const old = openDatabase(':memory:')
    migrate(old, versions.slice(0, 1))
    expect(versionOf(old)).toBe(1)
    old.exec('BEGIN')
    expect(() => migrate(old, [...versions, 'nonsense'])).toThrow()
    old.exec('ROLLBACK')
    expect(versionOf(old)).toBe(1)
    migrate(old, versions)
    migrate(old, versions)
    expect(versionOf(old)).toBe(2)
    old.close()
  })

  it('runs a batch in one commit, and lets one that cannot be done fail alone', () => {
    const { run } = openProcess()
    run({ op: 'add', jobs: [newJob({ id: 'first' })] })
    commits = 0
    const adds = Array.from({ length: 61 }, (_, index): AnyOperation => ({ op: 'add', jobs: [newJob({ id: `${index}` })] }))
    run(...adds.slice(0, 30))
    expect(commits).toBe(1)
    const bad: AnyOperation = { op: 'add', jobs: [newJob({ id: 'whole' }), newJob({ dependsOn: ['none'] })] }
    const results = run(...adds.slice(30, 45), bad, ...adds.slice(45))
    expect(results.filter((result) => result !== 'later' && 'error' in result)).toEqual([
      { error: expect.objectContaining({ code: 'ERR_PREFORK_UNKNOWN_DEPENDENCY' }) },
    ])
    expect(all('SELECT count(*) AS n FROM job')).toEqual([{ n: 62 }])
    expect(all('SELECT sum(n) AS n FROM counter')).toEqual([{ n: 62 }])
    expect(all("SELECT 1 FROM job WHERE id = 'whole'")).toEqual([])
  })

  it('settles before it claims, in the same batch', () => {
    const pending = new PendingOperations()
    for (const op of ['claim', 'add', 'find', 'settle', 'beat'] as const)
      pending.add({ id: 1, operation: { op, jobs: [], max: 1, lease: { seq: 1, token: 1 } } as never })
    expect(pending.takeBatch().map(({ operation }) => operation.op)).toEqual(['beat', 'settle', 'add', 'claim'])
    expect(pending.takeReads().map(({ operation }) => operation.op)).toEqual(['find'])
    pending.add({ id: 1, operation: { op: 'add', jobs: Array.from({ length: 1_200 }, () => newJob()) } })
    pending.add({ id: 2, operation: { op: 'add', jobs: [newJob()] } })
    expect(pending.takeBatch().length).toBe(1)
  })

  it('lets a beginning wait for company, and drops it when its job is settled in the same transaction', () => {
    const pending = new PendingOperations()
    const began = (seq: number, atOnce = false): void =>
      pending.add({ id: 0, operation: { op: 'began', session: 1, lease: { seq, token: 1 }, beginnings: 1, atOnce } })
    began(1)
    began(2)
    expect(pending.mayWait).toBe(true)
    pending.add({ id: 1, operation: { op: 'settle', session: 1, lease: { seq: 1, token: 1 }, outcome: { as: 'release' } } })
    expect(pending.mayWait).toBe(false)
    expect(pending.takeBatch().map(({ operation }) => [operation.op, 'lease' in operation && operation.lease.seq])).toEqual([
      ['began', 2],
      ['settle', 1],
    ])
    began(3)
    pending.add({ id: 2, operation: { op: 'counts', queues: undefined } })
    expect(pending.mayWait).toBe(false)
    pending.takeReads()
    expect(pending.mayWait).toBe(true)
    began(4, true)
    expect(pending.mayWait).toBe(false)
  })

  it('claims nothing under a session that is gone', () => {
    const { value } = openProcess()
    value({ op: 'add', jobs: [newJob()] })
    const session = value<number>({ op: 'openSession', name: 'n', schedulers: true })
    const claim: AnyOperation = { op: 'claim', session, queues: ['q'], max: 1 }
    database.exec('UPDATE session SET dead = 1')
    expect(value(claim)).toMatchObject({ jobs: [] })
    database.exec('DELETE FROM session')
    expect(value(claim)).toMatchObject({ jobs: [] })
    expect(all('SELECT state, token FROM job')).toEqual([{ state: 0, token: 0 }])
  })

  it('moves at most 1,000 rows in one transaction', () => {
    const { value, state } = openProcess()
    const session = value<number>({ op: 'openSession', name: 'n', schedulers: true })
    state.join(session, true)
    const runAt = time.wallNow + 10
    value({ op: 'add', jobs: Array.from({ length: 2_500 }, () => newJob({ runAt })) })
    pass(20)
    const sizes: number[] = []
    for (let before = 0, more = true; more; ) {
      more = value<boolean>({ op: 'sweep' })
      const [row] = all('SELECT count(*) AS n FROM job WHERE state = 0') as { n: number }[]
      sizes.push(row!.n - before)
      before = row!.n
    }
    expect(sizes).toEqual([1_000, 1_000, 500])
  })

  describe('a change', () => {
    const addMany = (process: ReturnType<typeof openProcess>, count: number, given: (index: number) => Partial<NewJob>): void => {
      for (let at = 0; at < count; at += 1_000) {
        process.value({ op: 'add', jobs: Array.from({ length: Math.min(1_000, count - at) }, (_, index) => newJob(given(at + index))) })
      }
    }
    /** How many each transaction has changed. */
    const altered = (process: ReturnType<typeof openProcess>, selector: JobSelector, change: JobChange): number[] => {
      const sizes: number[] = []
      let next: Altered['next'] = { after: 0, upTo: Number.MAX_SAFE_INTEGER }
      for (let upTo: number | undefined; next !== undefined; upTo = next?.upTo) {
        rowsRead = 0
        const done: Altered = process.value({ op: 'alter', selector: { ...selector, after: next.after }, change, ...(upTo === undefined ? {} : { upTo }) })
        expect(rowsRead).toBeLessThanOrEqual(1_000)
        sizes.push(done.ids.length)
        next = done.next
      }
      return sizes
    }
    const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

    it.each([
      ['cancel', 'of one task', { task: 'rare' }, 50],
      ['cancel', 'of the whole queue', {}, 5_000],
      ['retry', 'of one task', { task: 'rare' }, 0],
      ['remove', 'of what waits', { states: ['waiting'] as JobState[] }, 5_000],
      ['remove', 'of what ended some time ago', { endedBefore: 1 }, 0],
    ] as const)('%s %s reads a bounded number of rows in each transaction', (change, _, selector, expected) => {
      const process = openProcess()
      addMany(process, 5_000, (index) => ({ task: index % 100 === 7 ? 'rare' : 'common', priority: index % 3 }))
      expect(sum(altered(process, { queue: 'q', ...selector }, change))).toBe(expected)
    })

    it('goes over ended jobs likewise', () => {
      const process = openProcess()
      addMany(process, 3_000, (index) => ({ task: index % 100 === 7 ? 'rare' : 'common' }))
      expect(sum(altered(process, { queue: 'q' }, 'cancel'))).toBe(3_000)
      expect(sum(altered(process, { queue: 'q', task: 'rare' }, 'retry'))).toBe(30)
      pass(10)
      expect(sum(altered(process, { queue: 'q', endedBefore: 5 }, 'remove'))).toBe(2_970)
    })

    it('is as bounded where each job has a priority of its own', () => {
      const process = openProcess()
      addMany(process, 4_000, (index) => ({ priority: index, task: index % 2 === 0 ? 'even' : 'odd' }))
      expect(sum(altered(process, { queue: 'q', task: 'odd' }, 'cancel'))).toBe(2_000)
    })

    it('ends with the jobs that there were when it began', () => {
      const process = openProcess()
      addMany(process, 1_500, () => ({}))
      const first: Altered = process.value({ op: 'alter', selector: { queue: 'q' }, change: 'cancel' })
      expect(first.ids.length).toBeLessThan(1_500)
      addMany(process, 1_500, () => ({}))
      let [count, next] = [first.ids.length, first.next]
      while (next !== undefined) {
        const more: Altered = process.value({ op: 'alter', selector: { queue: 'q', after: next.after }, change: 'cancel', upTo: next.upTo })
        count += more.ids.length
        next = more.next
      }
      expect(count).toBe(1_500)
    })
  })

  it('reads a page of one state of the file, whatever others commit meanwhile', () => {
    const file = new StoreFile()
    const [mine, others] = [openDatabase(file.path), openDatabase(file.path)]
    mine.exec('PRAGMA journal_mode = WAL')
    migrate(mine)
    const other = openProcess(others)
    other.value({ op: 'add', jobs: [newJob({ id: 'a', runAt: time.wallNow + HOUR }), newJob({ id: 'b' })] })
    // After those that wait are read, and before those that are delayed are.
    let isDone = false
    const { transactions } = openProcess(mine, (sql) => {
      if (sql !== SQL.waitingAfter || isDone) return
      isDone = true
      expect(other.value<Altered>({ op: 'alter', selector: { queue: 'q' }, change: 'promote' }).ids).toEqual(['a'])
    })
    const found = transactions.read({ op: 'find', selector: { queue: 'q' } }) as { readonly value: Found }
    expect(isDone).toBe(true)
    expect(found.value.jobs.map(({ id, state }) => [id, state])).toEqual([
      ['a', 'delayed'],
      ['b', 'waiting'],
    ])
    mine.close()
    others.close()
    file.remove()
  })

  it('moves a delay that was asked for before the wall clock was set, and no time that a user chose', () => {
    const { value } = openProcess()
    value({ op: 'add', jobs: [newJob()] })
    const [runAt, clockOffset] = [time.wallNow + 60_000, time.wallNow - time.monotonicNow]
    time.wallNow -= HOUR
    value({ op: 'add', jobs: [newJob({ id: 'delayed', runAt, clockOffset, relative: true }), newJob({ id: 'at', runAt, clockOffset })] })
    const runAtOf = (id: string): number => value<{ runAt: number }>({ op: 'read', queue: 'q', id }).runAt
    expect(['delayed', 'at'].map(runAtOf)).toEqual([runAt - HOUR, runAt])
  })

  describe('when the wall clock is set', () => {
    const every: StoredSchedule = { every: HOUR, catchUp: 'one', task: 't', body: new Uint8Array(1), options: {}, priority: 0 }

    it.each([HOUR, -HOUR])('by %i ms, delays and intervals go on, once; times that a user chose stand', (jump) => {
      const first = openProcess()
      const second = openProcess()
      const session = first.value<number>({ op: 'openSession', name: 'n', schedulers: true })
      first.state.join(session, true)
      second.state.join(session, true)
      const [runAt, at] = [time.wallNow + 60_000, time.wallNow + 30 * 60_000]
      first.value({ op: 'add', jobs: [newJob({ id: 'delayed', runAt, relative: true }), newJob({ id: 'at', runAt: at })] })
      first.value({ op: 'schedule', queue: 'q', key: 'k', schedule: every })
      second.value({ op: 'sweep' })
      time.wallNow += jump
      pass(50_000)
      for (const { value } of [second, first, second]) value({ op: 'sweep' })
      expect(states()).toEqual([
        { id: 'delayed', state: 1 },
        { id: 'at', state: jump > 0 ? 0 : 1 },
      ])
      expect(second.value<{ runAt: number }>({ op: 'read', queue: 'q', id: 'delayed' }).runAt).toBe(runAt + jump)
      expect(all('SELECT next_at - ? AS n FROM schedule'.replace('?', String(time.wallNow)))).toEqual([{ n: HOUR - 50_000 }])
      pass(11_000)
      second.value({ op: 'sweep' })
      expect(states()[0]).toEqual({ id: 'delayed', state: 0 })
    })

    it('a boot is no jump: what was due while the machine was off is due', () => {
      openProcess().value({ op: 'add', jobs: [newJob({ id: 'a', runAt: time.wallNow + 60_000, relative: true })] })
      time = { wallNow: time.wallNow + HOUR, monotonicNow: 5, boot: 'second' }
      const { value, state } = openProcess()
      state.join(value<number>({ op: 'openSession', name: 'n', schedulers: true }), true)
      value({ op: 'sweep' })
      expect(states()).toEqual([{ id: 'a', state: 0 }])
    })
  })

  it('starts at most so many in any second, by all processes together', () => {
    const processes = [openProcess(), openProcess(), openProcess()]
    const [{ value }] = processes as [ReturnType<typeof openProcess>]
    value({ op: 'queue', name: 'q', set: { rate: '10/s' } })
    value({ op: 'add', jobs: Array.from({ length: 100 }, () => newJob()) })
    const session = value<number>({ op: 'openSession', name: 'n', schedulers: true })
    const starts: number[] = []
    for (let turn = 0; starts.length < 35; turn++) {
      const { jobs } = processes[turn % 3]!.value<{ jobs: unknown[] }>({ op: 'claim', session, queues: ['q'], max: 10 })
      starts.push(...jobs.map(() => time.monotonicNow))
      pass(7)
    }
    const most = Math.max(...starts.map((start) => starts.filter((other) => other >= start && other <= start + 1_000).length))
    expect(most).toBeLessThanOrEqual(11)
    expect(starts.at(-1)! - starts[0]!).toBeLessThan(3_900)
  })

  describe('liveness', () => {
    const row = (beat: number): SessionRow => ({ id: 1, name: 'n', socket: null, beat, dead: 0, watches: 0 })

    it('is a beat that moves, as seen over a lease without a gap', () => {
      const liveness = new Liveness(30_000)
      const looks = (from: number, to: number, beat: number): number[] => {
        let dead: number[] = []
        for (let at = from; at < to; at += 1_000) dead = liveness.look([row(beat)], at)
        return dead
      }
      expect(looks(0, 30_000, 1)).toEqual([])
      expect(looks(30_000, 59_000, 2)).toEqual([])
      // This process could not write, or stood still: what it saw before does not count.
      expect(looks(90_000, 119_000, 2)).toEqual([])
      expect(looks(119_000, 122_000, 2)).toEqual([1])
    })

    it('is not doubted by a process that cannot write', () => {
      const [first, second] = [openProcess(), openProcess()]
      const session = second.value<number>({ op: 'openSession', name: 'second', schedulers: true })
      first.state.join(first.value<number>({ op: 'openSession', name: 'first', schedulers: true }), true)
      second.state.join(session, true)
      const beatOf = ({ run, state }: typeof first): number[] => {
        const [result] = run({ op: 'beat' })
        if (typeof result !== 'object' || 'error' in result) return []
        return state.deadOf((result.value as Beat).rows, time.monotonicNow).map(({ id }) => id)
      }
      beatOf(first)
      database.exec('PRAGMA query_only = ON')
      for (let second = 0; second < 40; second++) {
        pass(1_000)
        expect(beatOf(first)).toEqual([])
      }
      database.exec('PRAGMA query_only = OFF')
      expect(beatOf(first)).toEqual([])
      for (let second = 0; second < 30; second++) {
        pass(1_000)
        expect(beatOf(first)).toEqual(second === 29 ? [session] : [])
      }
      // It beats before its end is stored.
      beatOf(second)
      expect(second.value({ op: 'sweepSession', session, beat: 0 })).toBe(false)
      expect(all('SELECT dead FROM session')).toEqual([{ dead: 0 }, { dead: 0 }])
    })
  })

  it('knows network file systems and versions', () => {
    expect([0x6969, 0xef53, -11317950].map(networkFileSystem)).toEqual(['NFS', undefined, 'CIFS'])
    expect(['3.51.2', '3.51.3', '3.9.9', '4.0'].map((version) => isAtLeast(version, [3, 51, 3]))).toEqual([false, true, false, true])
  })
})
