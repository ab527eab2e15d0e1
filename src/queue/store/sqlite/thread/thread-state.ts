import type { Liveness, SessionRow } from '../engine/sessions.js'
import type { Sweeper } from '../engine/sweep.js'

/** What the thread knows of its process. */
export class ThreadState {
  /** Its sessions: whether they have schedulers. */
  readonly own = new Map<number, boolean>()
  /** The session that claims nothing: it only tells others where to send events. */
  #watcher: number | undefined
  readonly #liveness: Liveness
  /** No other process can use the file. */
  readonly #alone: boolean
  /** The name of its socket. */
  socket: string | undefined
  /** Whether somebody in it listens to events. */
  watches = false

  constructor(liveness: Liveness, alone = false) {
    this.#liveness = liveness
    this.#alone = alone
  }

  join(session: number, schedulers: boolean, isWatcher = false): void {
    this.own.set(session, schedulers)
    if (isWatcher) this.#watcher = session
  }

  leave(session: number): void {
    this.own.delete(session)
    if (this.#watcher === session) this.#watcher = undefined
  }

  get watcher(): number | undefined {
    return this.#watcher
  }

  /** The sessions that are dead. To be called after each beat that was stored, at `monotonic`: while none can be, no session is seen to stand still. */
  deadOf(rows: readonly SessionRow[], monotonic: number): SessionRow[] {
    const others = rows.filter(({ id }) => !this.own.has(id))
    // Those of an earlier process, as there is no other.
    if (this.#alone) return others
    const still = new Set(this.#liveness.look(others, monotonic))
    return rows.filter(({ id, dead }) => dead === 1 || still.has(id))
  }

  get sweeper(): Sweeper {
    let schedulers = false
    for (const each of this.own.values()) schedulers ||= each
    return { sessions: this.own.size > (this.#watcher === undefined ? 0 : 1), schedulers }
  }
}
