import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { StoreError, storeClosed } from '../errors.js'
import type {
  AddedJob,
  JobChange,
  JobSelector,
  JobState,
  NewJob,
  QueueState,
  SessionInfo,
  Store,
  StoreCondition,
  StoredJob,
  StoredJobData,
  StoredSchedule,
  StoreEvent,
  StoreSession,
} from '../store.js'
import { MAX_ALTERED } from '../store.js'
import { hasSqlite } from './database/node-sqlite.js'
import type { Altered } from './engine/alter.js'
import type { Found } from './engine/find.js'
import { ownBytes, type ThreadData } from './protocol.js'
import { SqliteSession } from './sqlite-session.js'
import { StoreThreadLink } from './store-thread-link.js'

export interface SqliteOptions {
  /** How long a session whose process cannot be asked may stand still before it is taken for dead, ms. Default 30,000. */
  readonly lease?: number
  /** @internal For tests. */
  readonly wallOffset?: ThreadData['wallOffset']
  /** @internal For tests. */
  readonly exclusive?: boolean
}

const LEASE = 30_000

/** The path that all stores on a file share, whatever links lead to it. */
const realPathOf = async (path: string): Promise<string> => {
  const absolute = resolve(path)
  try {
    return await realpath(absolute)
  } catch {
    const folder = await realpath(dirname(absolute)).catch(() => dirname(absolute))
    return join(folder, basename(absolute))
  }
}

/** Ids are looked for one by one: not too many in one transaction. */
const inParts = (selector: JobSelector): JobSelector[] => {
  const { ids } = selector
  if (ids === undefined || ids.length <= MAX_ALTERED) return [selector]
  return Array.from({ length: Math.ceil(ids.length / MAX_ALTERED) }, (_, index) => ({
    ...selector,
    ids: ids.slice(index * MAX_ALTERED, (index + 1) * MAX_ALTERED),
  }))
}

/** A store in an SQLite file. Its work is done in a thread, which this process has once for each file. */
export class SqliteStore implements Store {
  readonly kind = 'sqlite'
  readonly #path: string
  readonly #options: SqliteOptions
  readonly #sessions = new Set<SqliteSession>()
  readonly #listeners = new Set<() => void>()
  /** Those that listened before the store was open. */
  readonly #early = new Set<(thread: StoreThreadLink) => void>()
  #file: string | undefined
  #thread: StoreThreadLink | undefined
  #opening: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(path: string, options: SqliteOptions = {}) {
    this.#path = path
    this.#options = options
  }

  get file(): string | undefined {
    return this.#file
  }

  open(): Promise<void> {
    if (this.#closing !== undefined) return Promise.reject(storeClosed())
    this.#opening ??= this.#open()
    return this.#opening
  }

  async #open(): Promise<void> {
    if (!hasSqlite()) {
      throw new StoreError(
        'ERR_PREFORK_STORE_UNSUPPORTED',
        `A store in a file needs Node 22.13 or later; this is ${process.version}. Install one, or use the store 'memory:' or RabbitMQ.`,
      )
    }
    const { lease = LEASE, wallOffset, exclusive } = this.#options
    const path = await realPathOf(this.#path)
    this.#thread = await StoreThreadLink.of({ path, lease, wallOffset, exclusive })
    this.#file = path
    for (const listen of this.#early) listen(this.#thread)
    this.#early.clear()
  }

  async add(jobs: readonly NewJob[]): Promise<readonly AddedJob[]> {
    return this.#openThread().request({ op: 'add', jobs: jobs.map((job) => ({ ...job, body: ownBytes(job.body) })) })
  }

  async openSession({ name, schedulers }: SessionInfo): Promise<StoreSession> {
    const thread = this.#openThread()
    const id = await thread.request<number>({ op: 'openSession', name, schedulers })
    const session: SqliteSession = new SqliteSession(thread, id, () => this.#sessions.delete(session))
    this.#sessions.add(session)
    return session
  }

  /** One transaction after the other: what others ask for comes between. */
  async alter(selector: JobSelector, change: JobChange): Promise<readonly string[]> {
    const { limit = Number.POSITIVE_INFINITY } = selector
    const all: string[] = []
    for (const part of inParts(selector)) {
      let next: Altered['next'] = { after: selector.after ?? 0, upTo: Number.MAX_SAFE_INTEGER }
      for (let upTo: number | undefined; next !== undefined && all.length < limit; upTo = next?.upTo) {
        const own: JobSelector = { ...part, after: next.after, limit: limit - all.length }
        const altered: Altered = await this.#openThread().request({ op: 'alter', selector: own, change, ...(upTo === undefined ? undefined : { upTo }) })
        for (const id of altered.ids) all.push(id)
        next = altered.next
      }
    }
    return all
  }

  async find(selector: JobSelector): Promise<readonly StoredJob[]> {
    const all: StoredJob[] = []
    const most = Math.min(selector.limit ?? 100, 1_000)
    for (let after: number | undefined = selector.after ?? 0; after !== undefined; ) {
      const { jobs, next }: Found = await this.#openThread().request({ op: 'find', selector: { ...selector, after, limit: most - all.length } })
      for (const job of jobs) all.push(job)
      after = next
    }
    return all
  }

  async read(queue: string, id: string): Promise<StoredJobData | undefined> {
    return this.#openThread().request({ op: 'read', queue, id })
  }

  async sessionCount(): Promise<number> {
    return this.#openThread().request({ op: 'sessionCount' })
  }

  async counts(queues?: readonly string[]): Promise<Record<string, Record<JobState, number>>> {
    return this.#openThread().request({ op: 'counts', queues })
  }

  async queue(name: string, set?: Partial<QueueState>): Promise<QueueState> {
    return this.#openThread().request(set === undefined ? { op: 'readQueue', name } : { op: 'queue', name, set })
  }

  async schedule(queue: string, key: string, schedule: StoredSchedule | null): Promise<boolean> {
    const own = schedule === null ? null : { ...schedule, body: ownBytes(schedule.body) }
    return this.#openThread().request({ op: 'schedule', queue, key, schedule: own })
  }

  async schedules(queue: string): Promise<readonly (StoredSchedule & { readonly key: string })[]> {
    return this.#openThread().request({ op: 'schedules', queue })
  }

  watch(listener: (event: StoreEvent) => void): () => void {
    return this.#listen((thread) => thread.watch(listener))
  }

  onCondition(listener: (condition: StoreCondition, error?: Error) => void): () => void {
    return this.#listen((thread) => thread.onCondition(listener))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#opening?.catch(() => {})
    if (this.#thread === undefined) return
    for (const end of this.#listeners) end()
    await Promise.all([...this.#sessions].map((session) => session.close()))
    await this.#thread.release()
  }

  /** Listens now, or as soon as the store is open. */
  #listen(start: (thread: StoreThreadLink) => () => void): () => void {
    let stop = (): void => {}
    const listen = (thread: StoreThreadLink): void => {
      stop = start(thread)
    }
    const end = (): void => {
      this.#early.delete(listen)
      this.#listeners.delete(end)
      stop()
    }
    this.#listeners.add(end)
    if (this.#thread === undefined) this.#early.add(listen)
    else listen(this.#thread)
    return end
  }

  #openThread(): StoreThreadLink {
    if (this.#thread === undefined || this.#closing !== undefined) throw storeClosed()
    return this.#thread
  }
}
