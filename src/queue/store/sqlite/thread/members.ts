import { performance } from 'node:perf_hooks'
import { clearTimeout, setTimeout } from '../../../../util/node-time.js'
import type { Effects, StoreContext } from '../engine/context.js'
import { cancelled, type SessionRow, sessions } from '../engine/sessions.js'
import type { HostMessages } from './host-messages.js'
import type { Beat } from './operations.js'
import { type PeerMessage, Peers } from './peers.js'
import type { Pending } from './pending.js'
import type { ThreadState } from './thread-state.js'

/** ms for which a process without a session believes the list of sessions that it has read. */
const LIST_AGE = 1_000
/** ms for which the session of a listener outlives it: who waits for one result after the other opens no session for each. */
const WATCH_LINGER = 2_000

/** What the sessions ask of the server. */
interface Server {
  /** Runs an operation in the next batch. */
  ask(pending: Omit<Pending, 'id'> & { readonly id?: number }): void
  /** Undefined: it could not be read now. */
  guarded<T>(read: () => T): T | undefined
  /** A session was opened: there is a beat to give, and more to do. */
  joined(): void
  /** The file is damaged or gone. */
  isOver(): boolean
}

/** The sessions of this process, and what it tells other processes and hears of them. */
export class Members {
  readonly #context: StoreContext
  readonly #state: ThreadState
  readonly #host: HostMessages
  readonly #server: Server
  readonly #peers: Peers
  /** No other process can use the file. */
  readonly #alone: boolean
  /** Cancellations that the host knows of. */
  #asked = new Set<string>()
  /** Dead sessions whose jobs are being given back. */
  readonly #sweeping = new Set<number>()
  /** Sockets on which nobody listens any more. */
  readonly #refused = new Set<string>()
  #listed = Number.NEGATIVE_INFINITY
  /** The session of a listener is being opened. */
  #isJoining = false
  #lingering: NodeJS.Timeout | undefined
  /** Sockets that were left behind have been looked for. */
  #hasTidied = false

  constructor(path: string, alone: boolean, context: StoreContext, state: ThreadState, host: HostMessages, server: Server) {
    this.#alone = alone
    this.#context = context
    this.#state = state
    this.#host = host
    this.#server = server
    this.#peers = new Peers(path, { onMessage: (message) => this.#onMessage(message), onDead: (name) => this.#onDead(name) })
  }

  // ---- sessions of this process

  async open(id: number, name: string, schedulers: boolean): Promise<void> {
    await this.#listen()
    const done = (session: unknown): void => {
      this.#state.join(session as number, schedulers)
      this.#server.joined()
    }
    this.#server.ask({ id, operation: { op: 'openSession', name, schedulers }, done })
  }

  /** Gives back what a session holds, as often as there is more, and ends it. */
  release(session: number, done: () => void): void {
    const once = (more: unknown): void => {
      if (more === true) this.release(session, done)
      else {
        this.#leave(session)
        this.keepWatching()
        done()
      }
    }
    this.#server.ask({ operation: { op: 'closeSession', session }, done: once, failed: done })
  }

  #leave(session: number): void {
    this.#state.leave(session)
    this.#context.claimed.drop(session)
  }

  lose(session: number): void {
    this.#leave(session)
    this.#host.lost(session)
    this.keepWatching()
  }

  /** A process that only listens to events has a session too, under which it claims nothing: others learn of its socket by it. */
  async watch(on: boolean): Promise<void> {
    this.#state.watches = on
    this.#setWatched()
    if (on) await this.#listen()
    else this.#endWatcherLater()
    if (this.#state.own.size > 0) this.#server.ask({ operation: { op: 'watch', on } })
    else this.keepWatching()
  }

  /** A session without a listener would beat, which is a write to the disk each second, until the store is closed. */
  #endWatcherLater(): void {
    clearTimeout(this.#lingering)
    this.#lingering = setTimeout(() => {
      const { watcher, watches } = this.#state
      if (watcher !== undefined && !watches) this.release(watcher, () => this.#host.flush())
    }, WATCH_LINGER)
  }

  /** Its last session is gone, or it had none. */
  keepWatching(): void {
    if (!this.#state.watches || this.#state.own.size > 0 || this.#isJoining) return
    this.#isJoining = true
    const joined = (session?: unknown): void => {
      this.#isJoining = false
      if (session === undefined) return
      this.#state.join(session as number, false, true)
      // Nobody listens any more.
      if (!this.#state.watches) this.#endWatcherLater()
    }
    this.#server.ask({ operation: { op: 'openSession', name: '', schedulers: false }, done: joined, failed: joined })
  }

  afterBeat({ lost, rows }: Beat): void {
    for (const session of lost) this.lose(session)
    for (const row of this.#state.deadOf(rows, this.#context.clock.monotonic)) this.#sweep(row)
    this.#peers.update(rows)
    this.#setWatched()
    this.#findCancelled()
  }

  #sweep(row: SessionRow): void {
    const { id: session, socket, beat } = row
    if (this.#sweeping.has(session)) return
    this.#sweeping.add(session)
    const done = (more: unknown): void => {
      this.#sweeping.delete(session)
      if (more === true) this.#sweep(row)
      else this.#forget(socket)
    }
    this.#server.ask({ operation: { op: 'sweepSession', session, beat }, done, failed: () => this.#sweeping.delete(session) })
  }

  /** Removes the socket of a dead process after its last session: until then it shows every other process that they are dead. */
  #forget(name: string | null): void {
    if (name === null || !this.#refused.has(name)) return
    const rows = this.#server.guarded(() => sessions(this.#context))
    if (rows === undefined || rows.some(({ socket }) => socket === name)) return
    this.#refused.delete(name)
    this.#peers.forget(name)
  }

  /** Once for each claim. */
  #findCancelled(): void {
    const found = this.#server.guarded(() => cancelled(this.#context, this.#state.own.keys())) ?? []
    const asked = new Set<string>()
    for (const { session, lease } of found) {
      const key = `${lease.seq} ${lease.token}`
      asked.add(key)
      if (!this.#asked.has(key)) this.#host.cancel(session, lease)
    }
    this.#asked = asked
  }

  // ---- other processes

  committed(effects: Effects): void {
    if (effects.cancels) this.#findCancelled()
    if (effects.settings) this.#host.settings()
    if (effects.sessions) this.#list()
    const { ready, cancels, settings, sessions: changed, events } = effects
    if (ready.size === 0 && !cancels && !settings && !changed && events.length === 0) return
    // A process without a session is not told of those that are opened.
    if (this.#state.own.size === 0 && performance.now() - this.#listed > LIST_AGE) this.#list()
    if (changed) this.#peers.send({ kind: 'sessions' })
    if (ready.size > 0) this.#peers.send({ kind: 'work' })
    if (cancels) this.#peers.send({ kind: 'cancel' })
    if (settings) this.#peers.send({ kind: 'settings' })
    if (events.length > 0 && this.#peers.someWatch) this.#peers.send({ kind: 'events', events })
  }

  end(): void {
    clearTimeout(this.#lingering)
    this.#peers.close(this.#state.own.size > 0)
  }

  async #listen(): Promise<void> {
    if (this.#alone) return
    await this.#peers.listen()
    this.#state.socket = this.#peers.name
    if (this.#peers.path !== undefined) this.#host.post({ socket: this.#peers.path })
    if (this.#hasTidied) return
    this.#hasTidied = true
    const named = (): Set<string | null> | undefined => {
      const rows = this.#server.isOver() ? undefined : this.#server.guarded(() => sessions(this.#context))
      return rows && new Set(rows.map(({ socket }) => socket))
    }
    // One that cannot be removed, or is removed by another process meanwhile, is no error.
    this.#peers.removeDead(named).catch(() => {})
  }

  #list(): void {
    this.#listed = performance.now()
    const rows = this.#server.guarded(() => sessions(this.#context))
    if (rows === undefined) return
    this.#peers.update(rows)
    this.#setWatched()
  }

  #setWatched(): void {
    this.#context.watched = this.#state.watches || this.#peers.someWatch
  }

  #onMessage(message: PeerMessage): void {
    if (message.kind === 'work') this.#host.work()
    else if (message.kind === 'cancel') this.#findCancelled()
    else if (message.kind === 'settings') this.#host.settings()
    else if (message.kind === 'sessions') this.#list()
    // A newer version may send what this one does not know.
    else if (message.kind === 'events' && this.#state.watches && Array.isArray(message.events)) this.#host.events(message.events)
    this.#host.flush()
  }

  /** Nobody listens on its socket any more. */
  #onDead(name: string): void {
    if (this.#state.own.size === 0 || this.#server.isOver()) return
    this.#refused.add(name)
    for (const row of this.#server.guarded(() => sessions(this.#context)) ?? []) if (row.socket === name) this.#sweep(row)
  }
}
