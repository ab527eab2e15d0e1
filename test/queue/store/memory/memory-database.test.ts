/** What is particular to jobs in memory: what is gone is not kept, and the wall clock may be set. */
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { MemoryStore } from '../../../../src/queue/store/memory/memory-store.js'
import type { NewJob, Outcome, StoreSession } from '../../../../src/queue/store/store.js'
import { until } from '../../../fixtures/until.js'
import { newJob } from '../contract.js'

const HOUR = 3_600_000
/** Two clocks are not read at once. */
const CLOSE = 10_000
const COMPLETED: Outcome = { as: 'completed', answer: new Uint8Array(0) }
const ERROR = { name: 'Error', message: 'no luck', stack: undefined, code: undefined }
const COUNTS = { attempt: 2, losses: 0, requeues: 0 }

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

describe('a database in memory', () => {
  let store: MemoryStore
  let session: StoreSession

  beforeEach(async () => {
    store = new MemoryStore()
    await store.open()
    session = await store.openSession({ name: 'n', schedulers: true })
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    await store.close()
  })

  describe('keeps nothing of a job that is gone', () => {
    /** Adds a job, and returns what tells whether its body is kept. */
    const addWeakly = async (given: Partial<NewJob> = {}): Promise<WeakRef<Uint8Array>> => {
      const body = new Uint8Array(100)
      await store.add([newJob({ ...given, body })])
      return new WeakRef(body)
    }
    const complete = async (): Promise<void> => {
      const [job] = (await session.claim(['q'], 1)).jobs
      expect(await session.settle(job!, COMPLETED)).toBe(true)
    }
    const keep = { completed: { age: HOUR, count: 1 } }
    const later = (): number => Date.now() + HOUR

    it.each<[string, () => Promise<WeakRef<Uint8Array>>]>([
      [
        'whose time is far, and that is removed',
        async () => {
          await addWeakly({ runAt: later() - 1_000 })
          const ref = await addWeakly({ id: 'a', runAt: later() })
          await store.alter({ queue: 'q', ids: ['a'] }, 'remove')
          return ref
        },
      ],
      [
        'that would expire much later',
        async () => {
          const ref = await addWeakly({ id: 'a', expiresAt: later(), options: { keep: { completed: { count: 0 } } } })
          await complete()
          return ref
        },
      ],
      [
        'that was to be kept for long, and that another has pushed out',
        async () => {
          await addWeakly({ options: { keep: { completed: { age: HOUR / 2 } } } })
          await complete()
          const ref = await addWeakly({ options: { keep } })
          await complete()
          await addWeakly({ options: { keep } })
          await complete()
          return ref
        },
      ],
      [
        'that waited behind a more urgent one',
        async () => {
          await addWeakly({ priority: 1 })
          const ref = await addWeakly({ id: 'a' })
          await store.alter({ queue: 'q', ids: ['a'] }, 'remove')
          return ref
        },
      ],
      [
        'that an ended one has depended on',
        async () => {
          const ref = await addWeakly({ id: 'a', options: { keep } })
          await addWeakly({ id: 'b', dependsOn: ['a'] })
          await complete()
          await complete()
          await store.alter({ queue: 'q', ids: ['a'] }, 'remove')
          return ref
        },
      ],
    ])('%s', async (_, end) => {
      const ref = await end()
      await until('its body is collected', async () => {
        // What a turn has read of it is kept until that ends.
        await setImmediate()
        collectGarbage()
        return ref.deref() === undefined
      })
    })
  })

  describe.each([HOUR, -HOUR])('when the wall clock is set by %i ms', (jump) => {
    const setClock = (): void => {
      const { now } = Date
      vi.spyOn(Date, 'now').mockImplementation(() => now() + jump)
    }
    const runAtOf = async (id: string): Promise<number> => (await store.read('q', id))!.runAt!

    it('delays go on, and times that a user chose stand', async () => {
      const now = Date.now()
      const [soon, late] = [now + 1_000, now + 2 * HOUR]
      await store.add([newJob({ id: 'delayed', runAt: soon, relative: true }), newJob({ id: 'at', runAt: late })])
      setClock()
      await store.counts()
      expect(Math.abs((await runAtOf('delayed')) - soon - jump)).toBeLessThan(CLOSE)
      expect(await runAtOf('at')).toBe(late)
      expect((await store.read('q', 'delayed'))!.state).toBe('delayed')
      await until('the delayed one waits', async () => (await store.read('q', 'delayed'))!.state === 'waiting')
      expect((await store.read('q', 'at'))!.state).toBe('delayed')
    })

    it('a retry is as long as before', async () => {
      await store.add([newJob({ id: 'a' })])
      const [job] = (await session.claim(['q'], 1)).jobs
      await session.settle(job!, { as: 'retry', delay: 1_000, counts: COUNTS, history: [], error: ERROR })
      setClock()
      expect((await session.claim(['q'], 1)).jobs).toEqual([])
      await until('it waits', async () => (await store.read('q', 'a'))!.state === 'waiting')
    })

    it('what is still blocked is delayed as long as before', async () => {
      const runAt = Date.now() + 2_000
      await store.add([newJob({ id: 'a' }), newJob({ id: 'b', runAt, relative: true, dependsOn: ['a'] })])
      const [job] = (await session.claim(['q'], 1)).jobs
      setClock()
      await session.settle(job!, COMPLETED)
      expect((await store.read('q', 'b'))!.state).toBe('delayed')
      await until('it waits', async () => (await store.read('q', 'b'))!.state === 'waiting')
    })

    it('intervals go on', async () => {
      const schedule = { every: 10 * HOUR, catchUp: 'one', task: 't', body: new Uint8Array(0), options: {}, priority: 0 } as const
      await store.schedule('q', 'k', schedule)
      const [before] = await store.schedules('q')
      setClock()
      await store.counts()
      const [after] = await store.schedules('q')
      expect(Math.abs(after!.nextAt! - before!.nextAt! - jump)).toBeLessThan(CLOSE)
    })
  })
})
