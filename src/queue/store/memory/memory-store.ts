import { setImmediate } from 'node:timers/promises'
import { storeClosed } from '../errors.js'
import type {
  AddedJob,
  JobChange,
  JobSelector,
  JobState,
  NewJob,
  QueueState,
  SessionInfo,
  Store,
  StoredJob,
  StoredJobData,
  StoredSchedule,
  StoreEvent,
  StoreSession,
} from '../store.js'
import { MAX_ALTERED, MAX_FOUND } from '../store.js'
import { nextMatching } from './job-table.js'
import { MemoryDatabase } from './memory-database.js'
import { MemorySession } from './memory-session.js'
import { storedJob, storedJobData } from './row.js'

/** A store in the memory of this process. Its jobs are gone with the last store that uses its database. */
export class MemoryStore implements Store {
  readonly kind = 'memory'
  readonly #database: MemoryDatabase
  readonly #sessions = new Set<MemorySession>()
  readonly #unwatch = new Set<() => void>()
  #state: 'new' | 'open' | 'closed' = 'new'

  /** `database`: shared with other stores. It is used until the store is closed. */
  constructor(database = new MemoryDatabase()) {
    this.#database = database
    database.use()
  }

  async open(): Promise<void> {
    if (this.#state === 'closed') throw storeClosed()
    this.#state = 'open'
  }

  /** Runs a transaction while the store is open. */
  async #run<T>(change: (now: number) => T): Promise<T> {
    if (this.#state !== 'open') throw storeClosed()
    return this.#database.run(change)
  }

  add(jobs: readonly NewJob[]): Promise<readonly AddedJob[]> {
    return this.#run((now) => this.#database.jobs.add(jobs, now))
  }

  openSession(info: SessionInfo): Promise<StoreSession> {
    return this.#run(() => {
      const session = new MemorySession(this.#database)
      this.#database.sessions.set(session, info)
      this.#sessions.add(session)
      return session
    })
  }

  async alter(selector: JobSelector, change: JobChange): Promise<readonly string[]> {
    const { jobs } = this.#database
    const { limit = Number.POSITIVE_INFINITY } = selector
    const candidates = jobs.table.candidates(selector)
    const all: string[] = []
    for (;;) {
      const { ids, isLast } = await this.#run((now) => jobs.alter(candidates, selector, change, now, limit - all.length, MAX_ALTERED))
      for (const id of ids) all.push(id)
      if (isLast) return all
      await setImmediate()
    }
  }

  async find(selector: JobSelector): Promise<readonly StoredJob[]> {
    const { jobs } = this.#database
    const most = Math.min(selector.limit ?? 100, 1_000)
    const candidates = jobs.table.candidates(selector)
    const found: StoredJob[] = []
    for (;;) {
      const { rows, isLast } = await this.#run((now) => nextMatching(candidates, selector, now, most - found.length, MAX_FOUND))
      for (const row of rows) found.push(storedJob(row, jobs.shift))
      if (isLast) return found
      await setImmediate()
    }
  }

  read(queue: string, id: string): Promise<StoredJobData | undefined> {
    return this.#run(() => {
      const row = this.#database.jobs.table.byId(queue, id)
      return row === undefined ? undefined : storedJobData(row, this.#database.jobs.shift)
    })
  }

  sessionCount(): Promise<number> {
    return this.#run(() => this.#database.sessions.size)
  }

  counts(queues?: readonly string[]): Promise<Record<string, Record<JobState, number>>> {
    return this.#run(() => this.#database.jobs.table.counts(queues))
  }

  queue(name: string, set?: Partial<QueueState>): Promise<QueueState> {
    return this.#run(() => {
      if (set !== undefined) this.#database.set(name, set)
      const { paused, rate } = this.#database.settings(name)
      return { paused, rate }
    })
  }

  schedule(queue: string, key: string, schedule: StoredSchedule | null): Promise<boolean> {
    return this.#run((now) => this.#database.schedule(queue, key, schedule, now))
  }

  schedules(queue: string): Promise<readonly (StoredSchedule & { readonly key: string })[]> {
    return this.#run(() => this.#database.schedules(queue).map(({ nextAt, ...rest }) => (nextAt === undefined ? rest : { ...rest, nextAt })))
  }

  watch(listener: (event: StoreEvent) => void): () => void {
    const end = this.#database.watch(listener)
    this.#unwatch.add(end)
    return () => {
      this.#unwatch.delete(end)
      end()
    }
  }

  /** Memory has no conditions that an operator could change. */
  onCondition(): () => void {
    return () => {}
  }

  async close(): Promise<void> {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    await Promise.all([...this.#sessions].map((session) => session.close()))
    for (const end of this.#unwatch) end()
    this.#database.leave()
  }
}
