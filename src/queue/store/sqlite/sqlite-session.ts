import { setMaxListeners } from 'node:events'
import type { HistoryEntry } from '../../../runtime/delivery.js'
import { notify } from '../../../util/notify.js'
import { storeClosed } from '../errors.js'
import type { Claim, Lease, Outcome, StoreSession } from '../store.js'
import { ownBytes } from './protocol.js'
import type { SessionEvents, StoreThreadLink } from './store-thread-link.js'

/** A session on a file: its thread lets it beat. */
export class SqliteSession implements StoreSession, SessionEvents {
  readonly id: number
  readonly #thread: StoreThreadLink
  readonly #lost = new AbortController()
  readonly #onEnd: () => void
  #onCancel: (lease: Lease) => void = () => {}
  #onWork: () => void = () => {}
  #onSettings: () => void = () => {}
  #closed: Promise<void> | undefined

  constructor(thread: StoreThreadLink, id: number, onEnd: () => void) {
    this.#thread = thread
    this.id = id
    this.#onEnd = onEnd
    setMaxListeners(0, this.#lost.signal)
    thread.addSession(id, this)
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  async claim(queues: readonly string[], max: number): Promise<Claim> {
    if (this.#closed !== undefined) throw storeClosed()
    if (this.#lost.signal.aborted) return { jobs: [], nextAt: undefined }
    return this.#thread.request({ op: 'claim', session: this.id, queues, max })
  }

  settle({ seq, token }: Lease, outcome: Outcome): Promise<boolean> {
    if (this.#closed !== undefined || this.#lost.signal.aborted) return Promise.resolve(false)
    const own = outcome.as === 'completed' ? { ...outcome, answer: ownBytes(outcome.answer) } : outcome
    return this.#thread.request({ op: 'settle', session: this.id, lease: { seq, token }, outcome: own })
  }

  began({ seq, token }: Lease, beginnings = 1, atOnce = false, history?: readonly HistoryEntry[]): void {
    const began = { op: 'began', session: this.id, lease: { seq, token }, beginnings, atOnce } as const
    this.#thread.post(history === undefined ? began : { ...began, history })
  }

  async beginning({ seq, token }: Lease): Promise<void> {
    if (this.#closed !== undefined || this.#lost.signal.aborted) return
    await this.#thread.request({ op: 'began', session: this.id, lease: { seq, token }, beginnings: 1, atOnce: true })
  }

  progress({ seq, token }: Lease, value: Uint8Array): void {
    this.#thread.post({ op: 'progress', session: this.id, lease: { seq, token }, value: ownBytes(value) })
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

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#onEnd()
    if (this.#lost.signal.aborted) return
    // A store that was removed, or that failed, holds nothing any more.
    await this.#thread.request({ op: 'closeSession', session: this.id }).catch(() => {})
    this.#thread.removeSession(this.id)
  }

  // ---- told by the thread

  wake(): void {
    if (this.#closed === undefined) notify(this.#onWork)
  }

  settingsChanged(): void {
    if (this.#closed === undefined) notify(this.#onSettings)
  }

  cancelled(lease: Lease): void {
    if (this.#closed === undefined) notify(this.#onCancel, lease)
  }

  lose(): void {
    this.#onEnd()
    this.#lost.abort()
  }
}
