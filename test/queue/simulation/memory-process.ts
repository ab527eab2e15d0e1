/** A process on a store in memory. All are one process in truth: a death is the loss of its sessions, as the store itself would find it. */
import { MemoryDatabase } from '../../../src/queue/store/memory/memory-database.js'
import type { MemorySession } from '../../../src/queue/store/memory/memory-session.js'
import { MemoryStore } from '../../../src/queue/store/memory/memory-store.js'
import type { Operation } from '../../../src/queue/store/sqlite/protocol.js'
import { failureOf } from '../../../src/queue/store/sqlite/thread/conditions.js'
import { contexts, type TimeContext } from './clock.js'
import { type Machine, SimProcess } from './process.js'

/** A database that shows what each of its transactions has changed. */
export class ObservedDatabase extends MemoryDatabase {
  /** Whose call is being served. */
  caller: MemoryProcess | undefined
  committed: (process: MemoryProcess | undefined) => void = () => {}
  #depth = 0

  override run<T>(change: (now: number) => T): T {
    this.#depth++
    try {
      return super.run(change)
    } finally {
      this.#depth--
      if (this.#depth === 0) this.committed(this.caller)
    }
  }
}

export class MemoryProcess extends SimProcess {
  readonly #database: ObservedDatabase
  readonly #store: MemoryStore
  readonly #sessions = new Map<number, MemorySession>()
  /** The one process in which all run. */
  readonly #shared: TimeContext
  #lastSession = 0

  constructor(name: string, machine: Machine, database: ObservedDatabase, shared: TimeContext) {
    super(name, machine)
    this.#database = database
    this.#shared = shared
    this.#store = new MemoryStore(database)
    void this.#store.open()
    this.atDeath.add(() => this.#die())
  }

  #die(): void {
    contexts.run(this.#shared, () => {
      for (const session of this.#sessions.values()) session.lose()
      this.#sessions.clear()
    })
  }

  protected receive(id: number, operation: Operation): void {
    this.#database.caller = this
    const answer = contexts.run(this.#shared, () => this.#do(operation))
    this.#database.caller = undefined
    answer.then(
      (value) => this.answered(id, { value }),
      (error) => this.answered(id, { failure: failureOf(error) }),
    )
  }

  async #do(operation: Operation): Promise<unknown> {
    const store = this.#store
    switch (operation.op) {
      case 'add':
        return store.add(operation.jobs)
      case 'alter':
        return store.alter(operation.selector, operation.change)
      case 'queue':
        return store.queue(operation.name, operation.set)
      case 'readQueue':
        return store.queue(operation.name)
      case 'schedule':
        return store.schedule(operation.queue, operation.key, operation.schedule)
      case 'openSession':
        return this.#open(operation.name, operation.schedulers)
      case 'claim':
        return this.#sessions.get(operation.session)?.claim(operation.queues, operation.max) ?? { jobs: [] }
      case 'settle':
        return this.#sessions.get(operation.session)?.settle(operation.lease, operation.outcome) ?? false
      case 'began':
        this.#sessions.get(operation.session)?.began(operation.lease, operation.beginnings, operation.atOnce, operation.history)
        // Not a transaction of the store: what is seen is to be up to date nevertheless.
        return this.#database.committed(this)
      case 'progress':
        return this.#sessions.get(operation.session)?.progress(operation.lease, operation.value)
      case 'closeSession':
        return this.#sessions.get(operation.session)?.close()
      case 'close':
        await store.close()
        this.kill()
        return undefined
      default:
        throw new Error(`no ${operation.op} in memory`)
    }
  }

  async #open(name: string, schedulers: boolean): Promise<number> {
    const session = (await this.#store.openSession({ name, schedulers })) as MemorySession
    const id = ++this.#lastSession
    this.#sessions.set(id, session)
    session.onWork(() => this.inHost(0.1, () => this.events.work()))
    session.onSettings(() => this.inHost(0.1, () => this.events.settings()))
    session.onCancel((lease) => this.inHost(0.1, () => this.events.cancel(id, lease)))
    session.lost.addEventListener('abort', () => this.inHost(0, () => this.events.lost(id)))
    return id
  }
}
