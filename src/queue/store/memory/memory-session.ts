import { setMaxListeners } from 'node:events'
import type { HistoryEntry } from '../../../runtime/delivery.js'
import { microtask } from '../../../util/node-time.js'
import { notify } from '../../../util/notify.js'
import { storeClosed } from '../errors.js'
import type { Claim, Lease, Outcome, StoreSession } from '../store.js'
import type { DatabaseSession, MemoryDatabase } from './memory-database.js'
import type { Row } from './row.js'

/** A session on a memory store: it ends with its process, or by `close`. */
export class MemorySession implements StoreSession, DatabaseSession {
  readonly #database: MemoryDatabase
  readonly #lost = new AbortController()
  /** Claimed and not settled. */
  readonly #held = new Set<Row>()
  #onCancel: (lease: Lease) => void = () => {}
  #onWork: () => void = () => {}
  #onSettings: () => void = () => {}
  #waking = false
  #closed = false

  constructor(database: MemoryDatabase) {
    this.#database = database
    // Each job that is held may listen.
    setMaxListeners(0, this.#lost.signal)
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  async claim(queues: readonly string[], max: number): Promise<Claim> {
    if (this.#closed) throw storeClosed()
    const claim = this.#database.claim(this, queues, max)
    for (const lease of claim.jobs) this.#held.add(this.#database.jobs.held(lease, this)!)
    return claim
  }

  async settle(lease: Lease, outcome: Outcome): Promise<boolean> {
    const { jobs } = this.#database
    const row = jobs.held(lease, this)
    if (row === undefined) return false
    this.#held.delete(row)
    return this.#database.run((now) => jobs.settle(row, outcome, now))
  }

  began(lease: Lease, beginnings = 1, _atOnce = false, history?: readonly HistoryEntry[]): void {
    const row = this.#database.jobs.held(lease, this)
    if (row === undefined) return
    row.begun = beginnings
    if (history !== undefined) row.history = history
  }

  async beginning(lease: Lease): Promise<void> {
    this.began(lease)
  }

  progress(lease: Lease, value: Uint8Array): void {
    const { jobs } = this.#database
    const row = jobs.held(lease, this)
    if (row === undefined) return
    row.progress = value
    this.#database.run(() => jobs.table.emit(row, 'progress'))
  }

  onCancel(listener: (lease: Lease) => void): void {
    this.#onCancel = listener
  }

  onWork(listener: () => void): void {
    this.#onWork = listener
  }

  onSettings(listener: () => void): void {
    this.#onSettings = listener
  }

  /** @internal */
  settingsChanged(): void {
    microtask(() => {
      if (!this.#closed) notify(this.#onSettings)
    })
  }

  /** @internal */
  cancelled(lease: Lease): void {
    microtask(() => {
      if (!this.#closed) notify(this.#onCancel, lease)
    })
  }

  /** @internal Once for all that comes in one turn. */
  wake(): void {
    if (this.#waking) return
    this.#waking = true
    microtask(() => {
      this.#waking = false
      if (!this.#closed) notify(this.#onWork)
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#end((row, now) => this.#database.jobs.settle(row, { as: 'release' }, now))
  }

  /** Takes it for dead, as another process would. */
  lose(): void {
    if (this.#closed) return
    this.#end((row, now) => this.#database.jobs.lose(row, now))
    this.#lost.abort()
  }

  #end(giveBack: (row: Row, now: number) => void): void {
    this.#closed = true
    this.#database.run((now) => {
      for (const row of this.#held) giveBack(row, now)
      this.#held.clear()
      this.#database.sessions.delete(this)
    })
  }
}
