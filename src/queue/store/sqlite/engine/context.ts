import type { StoreEvent } from '../../store.js'
import type { StoreClock } from '../database/clock.js'
import { Counters } from '../database/counters.js'
import type { Database } from '../database/node-sqlite.js'
import { Queues } from '../database/queues.js'
import { prepareStatements, type Statements } from '../database/statements.js'
import { ClaimedRows } from './claimed-rows.js'

/** What a transaction causes outside of the file. It is told after the commit. */
export interface Effects {
  readonly events: StoreEvent[]
  /** Queues in which there is more to claim. */
  readonly ready: Set<string>
  /** A claimed job is to be cancelled, in whichever process. */
  cancels: boolean
  /** The settings of a queue have changed. */
  settings: boolean
  /** The list of sessions has changed. */
  sessions: boolean
}

const noEffects = (): Effects => ({ events: [], ready: new Set(), cancels: false, settings: false, sessions: false })

/** What the operations on a store share during a transaction. */
export class StoreContext {
  readonly sql: Statements
  readonly queues: Queues
  readonly counters: Counters
  readonly claimed = new ClaimedRows()
  effects = noEffects()
  /** Whether anybody wants to hear of events. */
  watched = true

  constructor(
    database: Database,
    readonly clock: StoreClock,
  ) {
    this.sql = prepareStatements(database)
    this.queues = new Queues(this.sql)
    this.counters = new Counters(this.sql)
  }

  /** Returns the jump of the wall clock that this transaction is the first to see, ms. */
  begin(): number {
    this.effects = noEffects()
    return this.clock.begin(this.sql)
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.effects = noEffects()
    this.counters.forget()
    this.queues.forget()
    this.clock.forget()
  }

  emit(type: StoreEvent['type'], queue: number, id: string, seq: number): void {
    if (this.watched) this.effects.events.push({ type, queue: this.queues.nameOf(queue), id, seq })
  }

  /** A job waits. */
  ready(queue: number): void {
    this.effects.ready.add(this.queues.nameOf(queue))
  }
}
