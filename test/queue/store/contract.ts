/** What every store must do, whatever keeps its jobs. */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readClock } from '../../../src/queue/store/clock-jumps.js'
import type {
  Claim,
  ClaimedJob,
  JobState,
  NewJob,
  Outcome,
  SessionInfo,
  Store,
  StoredSchedule,
  StoreEvent,
  StoreSession,
} from '../../../src/queue/store/store.js'
import { until } from '../../fixtures/until.js'

/** Jobs that several stores share. */
export interface SharedJobs {
  /** A store that is not open yet. */
  make(): Store
  /** Lets somebody else take a session for dead. What the session has stored so far stays. */
  lose(session: StoreSession): void | Promise<void>
  /** Removes the jobs. Its stores are closed already. */
  remove(): void | Promise<void>
}

const bytes = (text: string): Uint8Array => Buffer.from(text)
const text = (value: Uint8Array | undefined): string | undefined => (value === undefined ? undefined : Buffer.from(value).toString())

const HOUR = 3_600_000

/** A time that the store of a busy machine has not reached when its next calls are done, ms. */
const SOON = 1_000

let ids = 0
/** A job of the queue 'q'. */
export const newJob = (given: Partial<NewJob> = {}): NewJob => ({
  id: `job-${++ids}`,
  queue: 'q',
  task: 'work',
  body: bytes('body'),
  options: {},
  priority: 0,
  runAt: undefined,
  relative: false,
  expiresAt: undefined,
  dependsOn: [],
  onFailedDependency: 'fail',
  dedup: undefined,
  ...given,
})

const COMPLETED: Outcome = { as: 'completed', answer: bytes('answer') }
const ERROR = { name: 'Error', message: 'no luck', stack: undefined, code: 'E_LUCK' }
const ENTRY = { attempt: 1, at: 1, node: 'n', outcome: 'failed', error: 'Error: no luck' } as const
const LOST = { attempt: 1, at: 2, node: 'n', outcome: 'lost', error: 'ended with worker 3: killed by SIGSEGV' } as const
const FAILED: Outcome = { as: 'failed', reason: 'failed', error: ERROR, counts: { attempt: 3, losses: 0, requeues: 0 }, history: [ENTRY] }
const retryAfter = (ms: number): Outcome => ({ as: 'retry', delay: ms, counts: { attempt: 2, losses: 1, requeues: 0 }, history: [ENTRY], error: ERROR })

export const storeContract = (name: string, share: () => SharedJobs | Promise<SharedJobs>): void => {
  describe(`a store: ${name}`, () => {
    let shared: SharedJobs
    let store: Store
    let opened: Store[] = []

    const openStore = async (): Promise<Store> => {
      const another = shared.make()
      opened.push(another)
      await another.open()
      return another
    }
    const openSession = (given: Partial<SessionInfo> = {}): Promise<StoreSession> => store.openSession({ name: 'node-1', schedulers: true, ...given })

    /** Claims `count` jobs, however long the store takes to see that they are due. */
    const claim = async (session: StoreSession, count = 1, queues: readonly string[] = ['q']): Promise<readonly ClaimedJob[]> => {
      const jobs: ClaimedJob[] = []
      await until(`${count} jobs are claimed`, async () => {
        jobs.push(...(await session.claim(queues, count - jobs.length)).jobs)
        return jobs.length === count
      })
      return jobs
    }
    const claimOne = async (session: StoreSession): Promise<ClaimedJob> => (await claim(session))[0]!
    const nothing = async (session: StoreSession, queues: readonly string[] = ['q']): Promise<Claim> => {
      const claimed = await session.claim(queues, 10)
      expect(claimed.jobs).toEqual([])
      return claimed
    }
    const stateOf = async (id: string, queue = 'q'): Promise<JobState | undefined> => (await store.read(queue, id))?.state
    /** The dependency that a failed job names. */
    const causeOf = async (id: string): Promise<string | undefined> =>
      /^The job '(.+)', on which it depends, did not succeed\.$/.exec((await store.read('q', id))?.error?.message ?? '')?.[1]
    const states = async (...named: string[]): Promise<(JobState | undefined)[]> => Promise.all(named.map((id) => stateOf(id)))
    const add = async (...given: Partial<NewJob>[]): Promise<void> => void (await store.add(given.map(newJob)))
    /** Adds a job, runs it, and ends it so. */
    const end = async (id: string, outcome: Outcome, given: Partial<NewJob> = {}): Promise<void> => {
      await add({ id, ...given })
      const session = await openSession()
      expect(await session.settle(await claimOne(session), outcome)).toBe(true)
      await session.close()
    }

    beforeEach(async () => {
      shared = await share()
      store = await openStore()
    })
    afterEach(async () => {
      await Promise.all(opened.map((each) => each.close()))
      opened = []
      await shared.remove()
    })

    describe('adding', () => {
      it('keeps what it is given, and gives it with the claim', async () => {
        const options = {
          maxAttempts: 5,
          backoff: { kind: 'fixed', delay: 7 },
          timeLimit: 9,
          softTimeLimit: 8,
          retryLost: 2,
          keep: { completed: { age: 5_000, count: 3 } },
        } as const
        const expiresAt = Date.now() + 60_000
        const [added] = await store.add([newJob({ id: 'ü', task: 'paint', body: bytes('\0\xff'), options, priority: 4, expiresAt })])
        expect(added).toEqual({ seq: added!.seq, id: 'ü', state: 'waiting', added: true })
        const job = await claimOne(await openSession())
        expect(job).toMatchObject({
          seq: added!.seq,
          id: 'ü',
          queue: 'q',
          task: 'paint',
          options,
          priority: 4,
          expiresAt,
          redelivered: false,
          results: undefined,
        })
        expect(job).toMatchObject({ counts: { attempt: 1, losses: 0, requeues: 0 }, history: [] })
        expect(text(job.body)).toBe('\0\xff')
      })

      it('keeps bytes of any length, none included', async () => {
        const none = new Uint8Array(0)
        const large = Buffer.alloc(1_000_000, 'l')
        await add({ id: 'none', body: none }, { id: 'large', body: large })
        const session = await openSession()
        for (const job of await claim(session, 2)) {
          session.progress(job, job.body)
          await session.settle(job, { as: 'completed', answer: job.body })
        }
        for (const [id, value] of [['none', none] as const, ['large', large] as const]) {
          const { body, answer, progress } = (await store.read('q', id))!
          expect([body, answer!, progress!].map((each) => Buffer.compare(each, value))).toEqual([0, 0, 0])
        }
      })

      it('does not add an id twice, but in another queue', async () => {
        const [first] = await store.add([newJob({ id: 'a' })])
        const again = await store.add([newJob({ id: 'a' }), newJob({ id: 'a', queue: 'other' }), newJob({ id: 'b' }), newJob({ id: 'b' })])
        expect(again.map(({ added }) => added)).toEqual([false, true, true, false])
        expect(again[0]).toEqual({ ...first, added: false })
        expect(again[3]).toEqual({ ...again[2], added: false })
        expect(new Set([first!.seq, again[1]!.seq, again[2]!.seq]).size).toBe(3)
      })

      it('adds all or none', async () => {
        await expect(store.add([newJob({ id: 'a' }), newJob({ id: 'b', dependsOn: ['a', 'missing'] })])).rejects.toMatchObject({
          code: 'ERR_PREFORK_UNKNOWN_DEPENDENCY',
        })
        expect(await states('a', 'b')).toEqual([undefined, undefined])
        expect(await store.counts(['q'])).toMatchObject({ q: { waiting: 0, blocked: 0 } })
        await add({ id: 'a' })
        expect(await stateOf('a')).toBe('waiting')
      })

      it('never uses a seq again', async () => {
        const [first] = await store.add([newJob({ id: 'a' })])
        await store.alter({ queue: 'q', ids: ['a'] }, 'remove')
        const [second] = await store.add([newJob({ id: 'a' })])
        expect(second!.seq).toBeGreaterThan(first!.seq)
      })

      it('tells ids apart that look alike', async () => {
        const odd = ['__proto__', 'constructor', 'a ', 'a', "a'b", 'a%', '\ufffd', 'A']
        await add(...odd.map((id) => ({ id })))
        expect(await states(...odd)).toEqual(odd.map(() => 'waiting'))
        expect((await store.find({ queue: 'q', ids: ['__proto__'] })).map(({ id }) => id)).toEqual(['__proto__'])
      })
    })

    describe('deduplication', () => {
      const dedup = { key: 'k', ttl: undefined }

      it('answers with the unfinished job of that key', async () => {
        const [first] = await store.add([newJob({ id: 'a', dedup })])
        expect(await store.add([newJob({ id: 'b', dedup })])).toEqual([{ ...first, added: false }])
        expect((await store.add([newJob({ id: 'c', queue: 'other', dedup })]))[0]!.added).toBe(true)
        const session = await openSession()
        const job = await claimOne(session)
        expect((await store.add([newJob({ id: 'b', dedup })]))[0]).toMatchObject({ id: 'a', state: 'active', added: false })
        await session.settle(job, COMPLETED)
        expect((await store.add([newJob({ id: 'b', dedup })]))[0]).toMatchObject({ id: 'b', added: true })
      })

      it('goes on for the time given, also when the job has ended', async () => {
        await end('a', COMPLETED, { dedup: { key: 'k', ttl: 60_000 } })
        expect((await store.add([newJob({ id: 'b', dedup })]))[0]).toMatchObject({ id: 'a', added: false })
        await end('gone', COMPLETED, { dedup: { key: 'kept', ttl: 60_000 }, options: { keep: { completed: { count: 0 } } } })
        await until('the job is gone', async () => (await stateOf('gone')) === undefined)
        expect((await store.add([newJob({ id: 'b', dedup: { key: 'kept', ttl: 1 } })]))[0]).toMatchObject({ id: 'gone', state: 'completed', added: false })
        await end('c', COMPLETED, { dedup: { key: 'short', ttl: 1 } })
        await until('the time has passed', async () => (await store.add([newJob({ id: 'd', dedup: { key: 'short', ttl: 1 } })]))[0]!.added)
      })
    })

    it('deduplication ends when its time does, or when a user removes the job', async () => {
      const keep = { completed: { count: 0 } }
      await end('a', COMPLETED, { dedup: { key: 'short', ttl: 1 }, options: { keep } })
      await until('the time has passed', async () => (await store.add([newJob({ id: 'b', dedup: { key: 'short', ttl: 1 } })]))[0]!.added)
      await add({ id: 'c', dedup: { key: 'k', ttl: 60_000 } })
      await store.alter({ queue: 'q', ids: ['c'] }, 'remove')
      expect((await store.add([newJob({ id: 'd', dedup: { key: 'k', ttl: 60_000 } })]))[0]).toMatchObject({ id: 'd', added: true })
    })

    describe('claims', () => {
      it('gives the most urgent first, then the oldest, at most so many', async () => {
        await add({ id: 'a' }, { id: 'b', priority: -1 }, { id: 'c', priority: 7 }, { id: 'd' }, { id: 'e', priority: 7, queue: 'other' })
        const session = await openSession()
        const first = await session.claim(['q', 'other'], 3)
        expect(first.jobs.map(({ id }) => id)).toEqual(['c', 'e', 'a'])
        expect((await session.claim(['q', 'other'], 3)).jobs.map(({ id }) => id)).toEqual(['d', 'b'])
        await nothing(session, ['q', 'other'])
      })

      it('gives each job to one session, and only those of the queues named', async () => {
        await add({ id: 'a' }, { id: 'b' }, { id: 'c', queue: 'other' })
        const another = await (await openStore()).openSession({ name: 'node-2', schedulers: true })
        const [mine, theirs] = [await claimOne(await openSession()), await claimOne(another)]
        expect([mine.id, theirs.id].sort()).toEqual(['a', 'b'])
        expect((await store.find({ queue: 'q', states: ['active'] })).map(({ id, node }) => [id, node]).sort()).toEqual(
          [
            [mine.id, 'node-1'],
            [theirs.id, 'node-2'],
          ].sort(),
        )
        expect(await stateOf('c', 'other')).toBe('waiting')
      })

      it('raises the token with each claim, and says that the job was claimed before', async () => {
        await add({ id: 'a' })
        const session = await openSession()
        const first = await claimOne(session)
        expect(await session.settle(first, { as: 'release' })).toBe(true)
        const second = await claimOne(session)
        expect(second.token).toBe(first.token + 1)
        expect(second).toMatchObject({ redelivered: true, counts: first.counts })
        expect(await session.settle(first, COMPLETED)).toBe(false)
        expect(await stateOf('a')).toBe('active')
      })

      it('wakes the sessions when there is something to claim', async () => {
        const session = await openSession()
        let woken = 0
        session.onWork(() => woken++)
        const other = await openStore()
        await other.add([newJob()])
        await until('the session is woken by another store', () => woken > 0)
      })
    })

    describe('settlements', () => {
      it('completes a job with its answer', async () => {
        await end('a', COMPLETED)
        const job = await store.read('q', 'a')
        expect(job).toMatchObject({ state: 'completed', reason: undefined, error: undefined, node: expect.anything() })
        expect(text(job!.answer)).toBe('answer')
        expect(job!.endedAt).toBeGreaterThanOrEqual(job!.createdAt)
      })

      it('completes a job with the runs that it lost before, and leaves counts and history alone where it lost none', async () => {
        const counts = { attempt: 1, losses: 2, requeues: 0 }
        await end('a', { ...COMPLETED, record: { counts, history: [ENTRY, LOST] } } as Outcome)
        const job = await store.read('q', 'a')
        expect(job).toMatchObject({ state: 'completed', counts, history: [ENTRY, LOST] })
        expect(text(job!.answer)).toBe('answer')
        await add({ id: 'b' })
        const session = await openSession()
        await session.settle(await claimOne(session), { as: 'retry', delay: 0, counts: { ...counts, requeues: 3 }, history: [ENTRY, LOST], error: ERROR })
        await session.settle(await claimOne(session), COMPLETED)
        expect(await store.read('q', 'b')).toMatchObject({ state: 'completed', counts: { ...counts, requeues: 3 }, history: [ENTRY, LOST] })
      })

      it('keeps the lost runs of a job that was cancelled before it completed', async () => {
        await add({ id: 'a' })
        const session = await openSession()
        const job = await claimOne(session)
        await store.alter({ queue: 'q', ids: ['a'] }, 'cancel')
        expect(await session.settle(job, { ...COMPLETED, record: { counts: { ...job.counts, losses: 1 }, history: [LOST] } } as Outcome)).toBe(false)
        expect(await store.read('q', 'a')).toMatchObject({ state: 'cancelled', counts: { losses: 1 }, history: [LOST] })
      })

      it.each(['failed', 'expired', 'cancelled'] as const)('ends a job as %s, with reason, error, counts and history', async (as) => {
        await end('a', { ...FAILED, as, reason: as })
        expect(await store.read('q', 'a')).toMatchObject({ state: as, reason: as, error: ERROR, counts: FAILED.counts, history: [ENTRY], answer: undefined })
      })

      it('changes nothing once the claim is over', async () => {
        await add({ id: 'a' })
        const session = await openSession()
        const job = await claimOne(session)
        expect(await session.settle(job, COMPLETED)).toBe(true)
        expect(await session.settle(job, FAILED)).toBe(false)
        expect(await stateOf('a')).toBe('completed')
      })

      it('keeps the counts whole', async () => {
        await add({ id: 'a' })
        const session = await openSession()
        const counts = { attempt: 2, losses: 1, requeues: 3, unknownFor: 250 }
        await session.settle(await claimOne(session), { ...retryAfter(0), counts } as Outcome)
        const again = await claimOne(session)
        expect(again.counts).toEqual(counts)
        await session.settle(again, { as: 'release' })
        await session.settle(await claimOne(session), { ...FAILED, counts: { ...counts, unknownFor: 500 } } as Outcome)
        expect((await store.read('q', 'a'))!.counts).toEqual({ ...counts, unknownFor: 500 })
        await store.alter({ queue: 'q' }, 'retry')
        expect((await claimOne(session)).counts).toEqual({ attempt: 1, losses: 0, requeues: 0 })
      })

      it('runs a job again after its delay, in any session', async () => {
        await add({ id: 'a' })
        const session = await openSession({ schedulers: false })
        await session.settle(await claimOne(session), retryAfter(SOON))
        expect(await store.read('q', 'a')).toMatchObject({ state: 'delayed', error: ERROR })
        const again = await claimOne(session)
        expect(again).toMatchObject({ id: 'a', counts: { attempt: 2, losses: 1 }, history: [ENTRY], redelivered: true })
        await session.settle(again, retryAfter(0))
        expect(await stateOf('a')).toBe('waiting')
      })
    })

    describe('sessions', () => {
      it('gives back what it holds when it is closed', async () => {
        await add({ id: 'a' })
        const session = await openSession()
        const job = await claimOne(session)
        await session.close()
        const other = await openSession()
        expect(await claimOne(other)).toMatchObject({ id: 'a', counts: job.counts, token: job.token + 1 })
        expect(await session.settle(job, COMPLETED)).toBe(false)
      })

      it('counts a loss for each beginning, and a requeue for what had not begun', async () => {
        await add({ id: 'begun' }, { id: 'unbegun' }, { id: 'often' })
        const session = await openSession()
        const [begun, unbegun, often] = await claim(session, 3)
        session.began(begun!)
        session.began(often!)
        session.began(often!, 3)
        // A later call of the session has stored it.
        await nothing(session, ['none'])
        await shared.lose(session)
        await until('the session knows that it is lost', () => session.lost.aborted)
        const other = await openSession()
        const jobs = await claim(other, 3)
        expect(jobs.map(({ id, counts }) => [id, counts.losses, counts.requeues])).toEqual([
          ['begun', 1, 0],
          ['unbegun', 0, 1],
          ['often', 3, 0],
        ])
        expect(await session.settle(begun!, COMPLETED)).toBe(false)
        expect(await session.settle(unbegun!, COMPLETED)).toBe(false)
        expect((await session.claim(['q'], 1).catch(() => ({ jobs: [] }))).jobs).toEqual([])
      })

      it('has an entry in the history for the run that ended with the session, beside those that the session has told of', async () => {
        await add({ id: 'begun' }, { id: 'unbegun' }, { id: 'often' })
        const session = await openSession({ name: 'node-7' })
        const [begun, , often] = await claim(session, 3)
        session.began(begun!)
        session.began(often!)
        session.began(often!, 2, true, [LOST])
        await nothing(session, ['none'])
        expect(await store.read('q', 'often')).toMatchObject({ state: 'active', counts: { losses: 1 }, history: [LOST] })
        await shared.lose(session)
        const jobs = await claim(await openSession(), 3)
        const ofNode = { attempt: 1, at: expect.any(Number), node: 'node-7', outcome: 'lost', error: expect.stringMatching(/^ended with node 'node-7': /) }
        expect(jobs.map(({ id, counts: { losses }, history }) => [id, losses, history])).toEqual([
          ['begun', 1, [ofNode]],
          ['unbegun', 0, []],
          ['often', 2, [LOST, ofNode]],
        ])
      })

      it('has stored a beginning that was reported before a settlement', async () => {
        await add({ id: 'a' }, { id: 'b' })
        const session = await openSession()
        const [a, b] = await claim(session, 2)
        session.began(a!)
        await session.settle(b!, COMPLETED)
        await shared.lose(session)
        const other = await openSession()
        expect((await claimOne(other)).counts.losses).toBe(1)
      })

      it('stores a beginning beside the settlement of an earlier claim', async () => {
        await add({ id: 'a' })
        const session = await openSession()
        const first = await claimOne(session)
        await session.settle(first, { as: 'release' })
        const second = await claimOne(session)
        session.began(second)
        expect(await session.settle(first, COMPLETED)).toBe(false)
        await shared.lose(session)
        const other = await openSession()
        expect((await claimOne(other)).counts.losses).toBe(1)
      })
    })

    describe('delays', () => {
      it('lets a job wait until it is due', async () => {
        const runAt = Date.now() + SOON
        await add({ id: 'a', runAt, relative: true }, { id: 'late', runAt: Date.now() + 60_000 })
        const session = await openSession()
        const { nextAt } = await nothing(session)
        expect(nextAt).toBeLessThanOrEqual(runAt)
        expect(await stateOf('a')).toBe('delayed')
        expect((await claimOne(session)).id).toBe('a')
        expect(Date.now()).toBeGreaterThanOrEqual(runAt)
        await nothing(session)
      })

      it('wakes a session when a job is due, in the order of priority', async () => {
        const session = await openSession()
        const runAt = Date.now() + SOON
        await add({ id: 'a', runAt }, { id: 'b', runAt, priority: 1 })
        let woken = false
        session.onWork(() => {
          woken = true
        })
        await until('the session is woken', () => woken)
        expect((await claim(session, 2)).map(({ id }) => id)).toEqual(['b', 'a'])
      })

      it('is not ended by a session without schedulers', async () => {
        const runAt = Date.now() + SOON
        await add({ id: 'a', runAt })
        const bare = await openSession({ schedulers: false })
        await until('it is due', () => Date.now() > runAt)
        await nothing(bare)
        expect(await stateOf('a')).toBe('delayed')
        const full = await openSession()
        expect((await claimOne(full)).id).toBe('a')
      })

      it.each([HOUR, -HOUR])('that was asked for before the wall clock was set by %i ms is as long as before', async (jump) => {
        const { now, offset } = readClock()
        // What its caller saw, before the clock was set.
        await add({ id: 'a', runAt: now - jump + SOON, relative: true, clockOffset: offset - jump })
        const { runAt, state } = (await store.read('q', 'a'))!
        expect(state).toBe('delayed')
        expect(Math.abs(runAt! - now - SOON)).toBeLessThan(SOON)
        expect((await claimOne(await openSession())).id).toBe('a')
      })

      it('ends with a promotion', async () => {
        await add({ id: 'a', runAt: Date.now() + 60_000 }, { id: 'b' })
        expect(await store.alter({ queue: 'q' }, 'promote')).toEqual(['a'])
        expect(await states('a', 'b')).toEqual(['waiting', 'waiting'])
      })
    })

    describe('expiry', () => {
      it('ends what has not begun, without a session', async () => {
        const expiresAt = Date.now() + 20
        await add({ id: 'a', expiresAt }, { id: 'b', expiresAt, runAt: Date.now() + 60_000 }, { id: 'c', dependsOn: ['b'], onFailedDependency: 'run' })
        await until('both have expired', async () => (await states('a', 'b')).every((state) => state === 'expired'))
        expect(await store.read('q', 'a')).toMatchObject({ reason: 'expired', error: { code: 'ERR_PREFORK_EXPIRED' } })
        expect(await stateOf('c')).toBe('waiting')
      })

      it('does not end what runs, but its retry', async () => {
        const session = await openSession()
        const expiresAt = Date.now() + SOON
        await add({ id: 'a', expiresAt })
        const job = await claimOne(session)
        await until('its time has passed', () => Date.now() > expiresAt)
        expect(await stateOf('a')).toBe('active')
        await session.settle(job, retryAfter(10))
        await until('it has expired', async () => (await stateOf('a')) === 'expired')
      })
    })

    describe('dependencies', () => {
      it('that expire together with what waits for them end each job once', async () => {
        const events: string[] = []
        store.watch(({ type, id }) => events.push(`${id} ${type}`))
        const expiresAt = Date.now() + 20
        await add({ id: 'child', expiresAt }, { id: 'parent', dependsOn: ['child'], expiresAt }, { id: 'last', expiresAt: expiresAt + 1 })
        await until('the last is told', () => events.includes('last expired'))
        expect(events.filter((event) => event.startsWith('parent'))).toEqual(['parent failed'])
        expect(await states('child', 'parent')).toEqual(['expired', 'failed'])
        expect(await store.counts(['q'])).toMatchObject({ q: { waiting: 0, blocked: 0, expired: 2, failed: 1 } })
      })

      it('wait for all, and get their answers', async () => {
        await add({ id: 'a' }, { id: 'b', priority: 1 }, { id: 'parent', dependsOn: ['a', 'b'] })
        expect(await stateOf('parent')).toBe('blocked')
        const session = await openSession()
        const [b, a] = await claim(session, 2)
        await session.settle(b!, { as: 'completed', answer: bytes('of b') })
        await nothing(session)
        await session.settle(a!, COMPLETED)
        const { results } = await claimOne(session)
        expect(Object.fromEntries(Object.entries(results!).map(([id, value]) => [id, text(value)]))).toEqual({ a: 'answer', b: 'of b' })
      })

      it('that have ended already count', async () => {
        await end('done', COMPLETED)
        await end('failed', FAILED)
        await add(
          { id: 'a', dependsOn: ['done'] },
          { id: 'b', dependsOn: ['done', 'failed'], onFailedDependency: 'run' },
          { id: 'c', dependsOn: ['failed'] },
          { id: 'd', dependsOn: ['c'] },
        )
        expect(await states('a', 'b', 'c', 'd')).toEqual(['waiting', 'waiting', 'failed', 'failed'])
        await add({ id: 'e', dependsOn: ['done', 'failed', 'c'] })
        expect(await Promise.all(['c', 'd', 'e'].map(causeOf))).toEqual(['failed', 'c', 'failed'])
        const jobs = await claim(await openSession(), 2)
        expect(jobs.map(({ results }) => Object.keys(results!))).toEqual([['done'], ['done']])
      })

      it('that fail, expire or are cancelled fail those that wait, or run them', async () => {
        await add({ id: 'a' }, { id: 'b', dependsOn: ['a'] }, { id: 'c', dependsOn: ['b'] }, { id: 'd', dependsOn: ['c'], onFailedDependency: 'run' })
        await store.alter({ queue: 'q', ids: ['a'] }, 'cancel')
        expect(await states('a', 'b', 'c', 'd')).toEqual(['cancelled', 'failed', 'failed', 'waiting'])
        expect(await store.read('q', 'c')).toMatchObject({ reason: 'dependency', error: { code: 'ERR_PREFORK_DEPENDENCY' } })
        expect(await Promise.all(['b', 'c'].map(causeOf))).toEqual(['a', 'b'])
      })

      it('that fail together fail a job that waits on both of them once', async () => {
        const events: string[] = []
        store.watch(({ type, id }) => events.push(`${id} ${type}`))
        const options = { keep: { failed: { age: 20 } } }
        await add({ id: 'a' }, { id: 'b', dependsOn: ['a'] }, { id: 'c', dependsOn: ['a', 'b'], options }, { id: 'd', runAt: Date.now() + 60_000 })
        await store.alter({ queue: 'q', ids: ['a'] }, 'cancel')
        await until('c is kept no longer', async () => (await stateOf('c')) === undefined)
        await store.alter({ queue: 'q', ids: ['d'] }, 'promote')
        await until('the last is told', () => events.includes('d waiting'))
        expect(events.filter((event) => event === 'c failed')).toEqual(['c failed'])
        expect(await causeOf('b')).toBe('a')
        expect(await store.counts(['q'])).toMatchObject({ q: { waiting: 1, blocked: 0, cancelled: 1, failed: 1 } })
      })

      it('that failed and are retried are waited for again by a job that still waits for others', async () => {
        await add({ id: 'a', priority: 1 }, { id: 'b' }, { id: 'last', dependsOn: ['a', 'b'], onFailedDependency: 'run' })
        const session = await openSession()
        const [a, b] = await claim(session, 2)
        await session.settle(a!, FAILED)
        await store.alter({ queue: 'q', ids: ['a'] }, 'retry')
        await session.settle(b!, COMPLETED)
        expect(await states('a', 'b', 'last')).toEqual(['waiting', 'completed', 'blocked'])
        await session.settle(await claimOne(session), COMPLETED)
        expect(Object.keys((await claimOne(session)).results!).sort()).toEqual(['a', 'b'])
      })

      it('that failed and are retried give their answer to a job that waits no longer', async () => {
        await add({ id: 'a' }, { id: 'last', dependsOn: ['a'], onFailedDependency: 'run' })
        const session = await openSession()
        await session.settle(await claimOne(session), FAILED)
        await store.alter({ queue: 'q', ids: ['a'] }, 'retry')
        expect(await states('a', 'last')).toEqual(['waiting', 'waiting'])
        const [a] = await claim(session, 1)
        await session.settle(a!, COMPLETED)
        expect(Object.keys((await claimOne(session)).results!)).toEqual(['a'])
      })

      it('released before their time is come wait for it', async () => {
        await add({ id: 'a' }, { id: 'b', dependsOn: ['a'], runAt: Date.now() + 60_000 })
        const session = await openSession()
        await session.settle(await claimOne(session), COMPLETED)
        expect(await stateOf('b')).toBe('delayed')
      })

      it('may be a long chain', async () => {
        const chain = Array.from({ length: 3_000 }, (_, index) => ({ id: `c${index}`, dependsOn: index === 0 ? [] : [`c${index - 1}`] }))
        for (let at = 0; at < chain.length; at += 1_000) await add(...chain.slice(at, at + 1_000))
        await store.alter({ queue: 'q', ids: ['c0'] }, 'cancel')
        await until('the last has failed', async () => (await stateOf('c2999')) === 'failed')
        expect(await store.counts(['q'])).toMatchObject({ q: { cancelled: 1, failed: 2_999, blocked: 0 } })
      })

      it('keep their answers for a job that waits, however short they are kept themselves', async () => {
        await add({ id: 'a', options: { keep: { completed: { count: 0 } } } }, { id: 'b' }, { id: 'parent', dependsOn: ['a', 'b'] })
        const session = await openSession()
        for (const job of await claim(session, 2)) await session.settle(job, COMPLETED)
        expect(Object.keys((await claimOne(session)).results!).sort()).toEqual(['a', 'b'])
      })
    })

    describe('changes', () => {
      it('cancel ends what is not claimed, and asks what is', async () => {
        await add({ id: 'active', priority: 1 }, { id: 'waiting' }, { id: 'delayed', runAt: Date.now() + 60_000 }, { id: 'blocked', dependsOn: ['waiting'] })
        const session = await openSession()
        const asked: number[] = []
        session.onCancel(({ seq, token }) => asked.push(seq, token))
        const job = await claimOne(session)
        const cancelled = await store.alter({ queue: 'q', ids: ['active', 'waiting', 'delayed'] }, 'cancel')
        expect([...cancelled].sort()).toEqual(['active', 'delayed', 'waiting'])
        expect(await states('active', 'waiting', 'delayed', 'blocked')).toEqual(['active', 'cancelled', 'cancelled', 'failed'])
        expect(await store.read('q', 'waiting')).toMatchObject({ reason: 'cancelled', error: { code: 'ERR_PREFORK_CANCELLED' } })
        await until('the session is asked', () => asked.length > 0)
        expect(asked).toEqual([job.seq, job.token])
        // It was asked.
        expect(await store.alter({ queue: 'q', ids: ['active'] }, 'cancel')).toEqual([])
        await session.settle(job, retryAfter(0))
        expect(await store.read('q', 'active')).toMatchObject({ state: 'cancelled', reason: 'cancelled' })
      })

      it('a cancelled job does not wait again', async () => {
        await add({ id: 'a' }, { id: 'b' }, { id: 'c' })
        const session = await openSession()
        const [a, b] = await claim(session, 3)
        await store.alter({ queue: 'q' }, 'cancel')
        await session.settle(a!, { as: 'release' })
        expect(await session.settle(b!, COMPLETED)).toBe(false)
        await shared.lose(session)
        await until('nothing is active', async () => (await store.counts(['q'])).q!.active === 0)
        expect(await states('a', 'b', 'c')).toEqual(['cancelled', 'cancelled', 'cancelled'])
        expect((await store.read('q', 'b'))!.answer).toBeUndefined()
      })

      it.each([['completed'], ['failed'], ['expired']])('a cancelled job that its node settles as %s has ended as cancelled', async (as) => {
        await add({ id: 'a' }, { id: 'after', dependsOn: ['a'] })
        const session = await openSession()
        const job = await claimOne(session)
        await store.alter({ queue: 'q', ids: ['a'] }, 'cancel')
        expect(await session.settle(job, as === 'completed' ? COMPLETED : { ...FAILED, as: as as 'failed' | 'expired' })).toBe(false)
        expect(await states('a', 'after')).toEqual(['cancelled', 'failed'])
        expect(await store.read('q', 'a')).toMatchObject({ reason: 'cancelled', error: { code: 'ERR_PREFORK_CANCELLED' } })
        expect(await session.settle(job, COMPLETED)).toBe(false)
      })

      it('cancel reaches a session of another store', async () => {
        await add({ id: 'a' })
        const session = await (await openStore()).openSession({ name: 'node-2', schedulers: true })
        let asked = false
        session.onCancel(() => {
          asked = true
        })
        await claimOne(session)
        await store.alter({ queue: 'q', ids: ['a'] }, 'cancel')
        await until('the session is asked', () => asked)
      })

      it('retry lets what did not succeed wait again, as new', async () => {
        const expiresAt = Date.now() + SOON
        await end('a', FAILED, { expiresAt })
        await end('done', COMPLETED)
        await until('its time has passed', () => Date.now() > expiresAt)
        expect(await store.alter({ queue: 'q' }, 'retry')).toEqual(['a'])
        expect(await store.read('q', 'a')).toMatchObject({ state: 'waiting', endedAt: undefined, reason: undefined, expiresAt: undefined })
        expect(await claimOne(await openSession())).toMatchObject({ id: 'a', counts: { attempt: 1, losses: 0, requeues: 0 }, history: [ENTRY] })
      })

      it('retry runs a job whose dependency has failed', async () => {
        await end('a', FAILED)
        await add({ id: 'b', dependsOn: ['a'] })
        await store.alter({ queue: 'q', ids: ['b'] }, 'retry')
        expect(await stateOf('b')).toBe('waiting')
      })

      it('remove takes a job once that is not kept when it ends', async () => {
        const options = { keep: { failed: { count: 0 } } }
        await add({ id: 'a', options }, { id: 'b', options, dependsOn: ['a'] }, { id: 'c' })
        await store.alter({ queue: 'q', ids: ['a', 'b'] }, 'remove')
        expect(await states('a', 'b', 'c')).toEqual([undefined, undefined, 'waiting'])
        expect(await store.counts(['q'])).toMatchObject({ q: { waiting: 1, blocked: 0, failed: 0, cancelled: 0 } })
      })

      it('remove takes what is not active', async () => {
        await end('done', COMPLETED)
        await add({ id: 'active', priority: 1 }, { id: 'a' }, { id: 'b', dependsOn: ['a'] })
        await claimOne(await openSession())
        expect([...(await store.alter({ queue: 'q', ids: ['done', 'active', 'a'] }, 'remove'))].sort()).toEqual(['a', 'done'])
        expect(await states('done', 'active', 'a', 'b')).toEqual([undefined, 'active', undefined, 'failed'])
      })

      it('go over any number of jobs, and count them all', async () => {
        for (let at = 0; at < 3_000; at += 1_000) {
          await add(...Array.from({ length: 1_000 }, (_, index) => ({ id: `${at + index}`, task: index % 10 === 0 ? 'rare' : 'common', priority: index % 4 })))
        }
        expect(new Set(await store.alter({ queue: 'q', task: 'rare' }, 'cancel')).size).toBe(300)
        expect(await store.alter({ queue: 'q', states: ['cancelled'], limit: 2 }, 'retry')).toEqual(['0', '10'])
        expect((await store.alter({ queue: 'q', limit: 1_500 }, 'cancel')).length).toBe(1_500)
        expect((await store.alter({ queue: 'q', ids: Array.from({ length: 3_000 }, (_, id) => `${id}`) }, 'retry')).length).toBe(1_798)
        expect((await store.find({ queue: 'q', task: 'rare', limit: 1_000 })).length).toBe(300)
        expect((await store.find({ queue: 'q', states: ['waiting', 'failed'], limit: 1_000 })).map(({ id }) => Number(id))).toEqual(
          Array.from({ length: 1_000 }, (_, id) => id),
        )
        expect((await store.alter({ queue: 'q' }, 'remove')).length).toBe(3_000)
        expect(await store.counts()).toEqual({})
      })

      it('select by state, task, age and page, at most so many', async () => {
        await end('old', COMPLETED)
        await delay(15)
        await end('young', COMPLETED)
        await add({ id: 'a', task: 'other' }, { id: 'b' }, { id: 'c' }, { id: 'd', queue: 'else' })
        const found = async (...selector: Parameters<Store['find']>): Promise<string[]> => (await store.find(...selector)).map(({ id }) => id)
        expect(await found({ queue: 'q' })).toEqual(['old', 'young', 'a', 'b', 'c'])
        expect(await found({ queue: 'q', endedBefore: 10 })).toContain('old')
        expect(await found({ queue: 'q', endedBefore: 60_000 })).toEqual([])
        expect(await found({ task: 'other' })).toEqual(['a'])
        expect(await found({ states: ['waiting'], limit: 2 })).toEqual(['a', 'b'])
        const [, b] = await store.find({ queue: 'q', states: ['waiting'], limit: 2 })
        expect(await found({ queue: 'q', after: b!.seq })).toEqual(['c'])
        expect(await found({ queue: 'q', ids: ['c', 'd', 'a', 'a'] })).toEqual(['a', 'c'])
        expect(await found({ queue: 'q', ids: ['b'], seq: b!.seq })).toEqual(['b'])
        expect(await found({ queue: 'q', ids: ['c'], seq: b!.seq })).toEqual([])
        expect(await store.alter({ queue: 'q', states: ['waiting'], limit: 1 }, 'remove')).toEqual(['a'])
      })
    })

    describe('counters', () => {
      it('follow each change', async () => {
        const none = { waiting: 0, delayed: 0, active: 0, blocked: 0, completed: 0, failed: 0, expired: 0, cancelled: 0 }
        expect(await store.counts()).toEqual({})
        expect(await store.counts(['q'])).toEqual({ q: none })
        await add({ id: 'a' }, { id: 'b' }, { id: 'c', runAt: Date.now() + 60_000 }, { id: 'd', dependsOn: ['c'] }, { id: 'e', queue: 'other' })
        expect(await store.counts()).toEqual({ q: { ...none, waiting: 2, delayed: 1, blocked: 1 }, other: { ...none, waiting: 1 } })
        const session = await openSession()
        const [a, b] = await claim(session, 2)
        expect(await store.counts(['q'])).toEqual({ q: { ...none, active: 2, delayed: 1, blocked: 1 } })
        await session.settle(a!, COMPLETED)
        await session.settle(b!, retryAfter(60_000))
        expect(await store.counts(['q'])).toEqual({ q: { ...none, completed: 1, delayed: 2, blocked: 1 } })
        await store.alter({ queue: 'q' }, 'cancel')
        expect(await store.counts(['q'])).toEqual({ q: { ...none, completed: 1, cancelled: 2, failed: 1 } })
        await store.alter({ queue: 'q' }, 'remove')
        expect(await store.counts(['q'])).toEqual({ q: none })
      })
    })

    describe('retention', () => {
      it('keeps so many ended jobs of a queue', async () => {
        for (const id of ['a', 'b', 'c']) await end(id, COMPLETED, { options: { keep: { completed: { count: 2 } } } })
        await end('d', FAILED, { options: { keep: { failed: { count: 0 } } } })
        await until('the surplus is gone', async () => (await store.find({ queue: 'q' })).length === 2)
        expect(await states('a', 'b', 'c', 'd')).toEqual([undefined, 'completed', 'completed', undefined])
        expect(await store.counts(['q'])).toMatchObject({ q: { completed: 2, failed: 0 } })
      })

      it('removes what ended first, whenever it was added', async () => {
        await add({ id: 'late', priority: -1, options: { keep: { completed: { count: 2 } } } })
        for (const id of ['a', 'b', 'late']) await end(id, COMPLETED, { options: { keep: { completed: { count: 2 } } } })
        await until('the surplus is gone', async () => (await store.counts(['q'])).q!.completed === 2)
        expect(await states('a', 'b', 'late')).toEqual([undefined, 'completed', 'completed'])
      })

      it('bounds each job by its own number', async () => {
        for (const id of ['a', 'b', 'c']) await end(id, COMPLETED)
        await end('none', COMPLETED, { options: { keep: { completed: { count: 0 } } } })
        await end('one', COMPLETED, { options: { keep: { completed: { count: 1 } } } })
        await end('d', COMPLETED)
        await until('both are gone', async () => (await states('none', 'one')).every((state) => state === undefined))
        expect(await states('a', 'b', 'c', 'd')).toEqual(['completed', 'completed', 'completed', 'completed'])
      })

      it('keeps up with many that end at once', async () => {
        await add(...Array.from({ length: 400 }, () => ({ options: { keep: { failed: { count: 10 } } } })))
        await store.alter({ queue: 'q' }, 'cancel')
        expect(await store.counts(['q'])).toMatchObject({ q: { cancelled: 10 } })
      })

      it('removes others while one that waits needs what ended first', async () => {
        const options = { keep: { completed: { count: 1 } } }
        const children = Array.from({ length: 120 }, (_, index) => ({ id: `child-${index}`, options, priority: 1 }))
        await add(...children, { id: 'open', priority: -1 }, { id: 'parent', dependsOn: ['open', ...children.map(({ id }) => id)] })
        const session = await openSession()
        for (const job of await claim(session, 120)) await session.settle(job, COMPLETED)
        await add({ id: 'a', options }, { id: 'b', options })
        for (const job of await claim(session, 2)) await session.settle(job, COMPLETED)
        await until('the older is gone', async () => (await stateOf('a')) === undefined)
        expect(await stateOf('b')).toBe('completed')
        await session.settle(await claimOne(session), COMPLETED)
        expect(Object.keys((await claimOne(session)).results!)).toHaveLength(121)
      })

      it('keeps an ended job for its time', async () => {
        await end('a', COMPLETED, { options: { keep: { completed: { age: 10 } } } })
        await end('b', COMPLETED)
        await until('it is gone', async () => (await stateOf('a')) === undefined)
        expect(await stateOf('b')).toBe('completed')
      })
    })

    describe('queues', () => {
      it('tell the sessions of any store that their settings have changed', async () => {
        const session = await (await openStore()).openSession({ name: 'node-2', schedulers: true })
        let told = 0
        session.onSettings(() => told++)
        await store.queue('q', { paused: true })
        await until('it is told', () => told > 0)
      })

      it('that are paused give nothing, in any store', async () => {
        await add({ id: 'a' })
        const session = await openSession()
        expect(await store.queue('q')).toEqual({ paused: false, rate: null })
        const other = await openStore()
        expect(await other.queue('q', { paused: true })).toEqual({ paused: true, rate: null })
        await nothing(session)
        let woken = false
        session.onWork(() => {
          woken = true
        })
        await other.queue('q', { paused: false })
        await until('the session is woken', () => woken)
        expect((await claimOne(session)).id).toBe('a')
      })

      it('with a rate give so many, while others go on', async () => {
        await store.queue('q', { rate: '1/h' })
        expect(await store.queue('q')).toEqual({ paused: false, rate: '1/h' })
        await add({ id: 'a' }, { id: 'b', priority: 1 }, { id: 'c', queue: 'other' })
        const session = await openSession()
        const { jobs, nextAt } = await session.claim(['q', 'other'], 10)
        expect(jobs.map(({ id }) => id)).toEqual(['b', 'c'])
        expect(nextAt).toBeGreaterThan(Date.now() + 60_000)
        const second = await (await openStore()).openSession({ name: 'node-2', schedulers: true })
        await nothing(second)
        await store.queue('q', { rate: null })
        expect((await claimOne(second)).id).toBe('a')
      })

      it('refuse a rate that cannot be read', async () => {
        await expect(store.queue('q', { rate: 'often' })).rejects.toThrow(RangeError)
        expect(await store.queue('q')).toEqual({ paused: false, rate: null })
      })
    })

    describe('schedules', () => {
      const every = (ms: number, given: Partial<StoredSchedule> = {}): StoredSchedule => ({
        every: ms,
        catchUp: 'one',
        task: 'tick',
        body: bytes('tock'),
        options: { maxAttempts: 2 },
        priority: 3,
        ...given,
      })

      it('add a job at each tick', async () => {
        await store.schedule('q', 'k', every(20))
        const session = await openSession()
        const [first, second] = await claim(session, 2)
        expect(first).toMatchObject({ task: 'tick', options: { maxAttempts: 2 }, priority: 3 })
        expect(text(first!.body)).toBe('tock')
        const ticks = [first!, second!].map(({ id }) => Number(id.replace('k:', '')))
        expect((ticks[1]! - ticks[0]!) % 20).toBe(0)
        expect(ticks[1]).toBeGreaterThan(ticks[0]!)
        expect(await store.schedule('q', 'k', null)).toBe(true)
        expect(await store.schedule('q', 'k', null)).toBe(false)
        expect(await store.schedules('q')).toEqual([])
      })

      it('need a session with schedulers, and add each tick once however many there are', async () => {
        await store.schedule('q', 'k', every(60_000, { nextAt: Date.now() - 5 }))
        const bare = await openSession({ schedulers: false })
        await delay(20)
        await nothing(bare)
        const other = await openStore()
        await Promise.all([openSession(), other.openSession({ name: 'node-2', schedulers: true })])
        await until('the tick has come', async () => (await store.find({ queue: 'q' })).length > 0)
        await delay(30)
        expect((await store.find({ queue: 'q' })).length).toBe(1)
      })

      it.each([
        ['one', 1],
        ['none', 0],
        ['all', 6],
      ] as const)('that missed ticks catch up with %s', async (catchUp, expected) => {
        await store.schedule('q', 'k', every(10_000, { catchUp, nextAt: Date.now() - 55_000 }))
        await openSession()
        await until('the next tick lies ahead', async () => (await store.schedules('q'))[0]!.nextAt! > Date.now())
        expect((await store.find({ queue: 'q' })).length).toBe(expected)
      })

      it('add a job of another id where a job has the id of the tick', async () => {
        const nextAt = Date.now() - 5
        await store.add([newJob({ id: `k:${nextAt}`, runAt: Date.now() + 60_000 })])
        await store.schedule('q', 'k', every(60_000, { nextAt }))
        const session = await openSession()
        const { id, task } = await claimOne(session)
        expect(task).toBe('tick')
        expect(id).not.toBe(`k:${nextAt}`)
        expect((await store.find({ queue: 'q' })).length).toBe(2)
      })

      it('go on beside one that cannot be read', async () => {
        const nextAt = Date.now() - 5
        const broken = { cron: 'nonsense', catchUp: 'one', task: 'tick', body: bytes(''), options: {}, priority: 0, nextAt } as const
        await store.schedule('q', 'broken', broken)
        await store.schedule('q', 'k', every(60_000, { nextAt }))
        const session = await openSession()
        expect((await claimOne(session)).id).toBe(`k:${nextAt}`)
        expect((await store.schedules('q')).map(({ key, nextAt: next }) => [key, next === undefined])).toEqual([
          ['broken', true],
          ['k', false],
        ])
      })

      it('keep their next tick when they are stored again, unless their timing has changed', async () => {
        const cron: StoredSchedule = { cron: '0 3 1 1 *', timeZone: 'Asia/Tokyo', catchUp: 'none', task: 'tick', body: bytes(''), options: {}, priority: 0 }
        await store.schedule('q', 'k', every(60_000))
        const [before] = await store.schedules('q')
        await delay(5)
        await store.schedule('q', 'k', every(60_000, { task: 'tack' }))
        expect(await store.schedules('q')).toEqual([{ ...every(60_000, { task: 'tack' }), body: expect.anything(), key: 'k', nextAt: before!.nextAt }])
        await store.schedule('q', 'k', cron)
        await store.schedule('other', 'k', cron)
        const [after] = await store.schedules('q')
        expect(after).toMatchObject({ key: 'k', cron: '0 3 1 1 *', timeZone: 'Asia/Tokyo', catchUp: 'none' })
        expect(new Date(after!.nextAt!).toISOString()).toMatch(/-12-31T18:00:00.000Z$/)
      })
    })

    describe('what is told', () => {
      it('is each change, after it was stored', async () => {
        const events: StoreEvent[] = []
        const seen: Promise<unknown>[] = []
        const unwatch = store.watch((event) => {
          events.push(event)
          if (event.type === 'completed') seen.push(store.read(event.queue, event.id).then((job) => expect(job!.state).toBe('completed')))
        })
        const told = (id: string): string[] => events.filter((event) => event.id === id).map(({ type }) => type)
        await add({ id: 'a' }, { id: 'late', runAt: Date.now() + 60_000 })
        const session = await openSession()
        const a = await claimOne(session)
        session.progress(a, bytes('half'))
        await until('the progress is stored', async () => text((await store.read('q', 'a'))!.progress) === 'half')
        await session.settle(a, retryAfter(0))
        await session.settle(await claimOne(session), COMPLETED)
        await store.alter({ queue: 'q', ids: ['late'] }, 'cancel')
        await add({ id: 'b' })
        await session.settle(await claimOne(session), FAILED)
        await add({ id: 'c', expiresAt: Date.now() + 5, runAt: Date.now() + 60_000 })
        await until('the last is told', () => told('c').includes('expired'))
        expect(told('a').filter((type) => type !== 'active')).toEqual(['waiting', 'progress', 'retrying', 'completed'])
        expect(told('late')).toEqual(['delayed', 'cancelled'])
        expect(told('b').filter((type) => type !== 'active')).toEqual(['waiting', 'failed'])
        expect(events[0]).toMatchObject({ queue: 'q', seq: a.seq })
        await Promise.all(seen)
        expect(seen.length).toBe(1)
        unwatch()
        await add({ id: 'd' })
        await delay(10)
        expect(told('d')).toEqual([])
      })

      it('are also the changes of other stores, and stalled jobs', async () => {
        const events: string[] = []
        store.watch(({ type, id }) => events.push(`${id} ${type}`))
        const other = await openStore()
        await other.add([newJob({ id: 'a' })])
        const session = await openSession()
        session.began(await claimOne(session))
        await nothing(session, ['none'])
        await shared.lose(session)
        await until('it is told', () => events.includes('a stalled'))
        expect(events).toContain('a waiting')
      })
    })

    describe('the end', () => {
      it('refuses every call after it, and gives back what its sessions hold', async () => {
        const other = await openStore()
        await add({ id: 'a' })
        const session = await openSession()
        await claimOne(session)
        await store.close()
        await expect(store.add([newJob()])).rejects.toMatchObject({ code: 'ERR_PREFORK_STORE_CLOSED' })
        await expect(session.claim(['q'], 1)).rejects.toMatchObject({ code: 'ERR_PREFORK_STORE_CLOSED' })
        expect((await other.read('q', 'a'))!.state).toBe('waiting')
        await store.close()
      })
    })
  })
}
