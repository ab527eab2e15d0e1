import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MessagePort } from 'node:worker_threads'
import { MAX_TIMER } from '../../../../util/limits.js'
import { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from '../../../../util/node-time.js'
import { storeClosed } from '../../errors.js'
import type { Claim } from '../../store.js'
import { StoreClock, type TimeSource } from '../database/clock.js'
import type { Statement } from '../database/node-sqlite.js'
import { type Effects, StoreContext } from '../engine/context.js'
import { Liveness } from '../engine/sessions.js'
import { nextSweep } from '../engine/sweep.js'
import { type PackedCompletion, type Request, type ThreadData, unpackRequest } from '../protocol.js'
import { Conditions, corruptError, isCorrupt, isFull, removedError } from './conditions.js'
import { HostMessages } from './host-messages.js'
import { nextTurnAfter } from './lock.js'
import { Members } from './members.js'
import { identityOf, type OpenedFile } from './open-file.js'
import type { AnyOperation, Beat } from './operations.js'
import { type Pending, PendingOperations } from './pending.js'
import { ThreadState } from './thread-state.js'
import { type Result, Transactions } from './transactions.js'

/** ms between two beats of the sessions. */
const BEAT = 1_000
/** ms between two looks for commits of other processes: the net under the messages of their sockets. */
const POLL = 250
/** ms that beginnings wait for other operations: alone they would be a commit. */
const BEGAN_WAIT = 5
/** ms between two tries while the disk is full. */
const FULL_RETRY = 250
/** ms before what is due, and could not be handled, is tried again. */
const SWEEP_RETRY = 500
/** ms that a claim waits for the lock of another process, and until it is asked for again: a node that ends waits for its claim. */
const CLAIM_WAIT = 1_000
const CLAIM_LATER = 250
/** ms that a store which closes has for what was asked before, where the disk is full or the file is locked. */
const CLOSE_TIMEOUT = 1_000

/** The store of one file in this process: it has the only connection. Operations come in over a port, in batches, and are answered after their commit. */
export class StoreServer {
  readonly #file: OpenedFile
  readonly #path: string
  readonly #host: HostMessages
  readonly #context: StoreContext
  readonly #state: ThreadState
  readonly #transactions: Transactions
  readonly #conditions: Conditions
  readonly #members: Members
  readonly #pending = new PendingOperations()
  readonly #dataVersion: Statement
  #version = 0
  #turn: NodeJS.Immediate | undefined
  #beganTimer: NodeJS.Timeout | undefined
  #dueTimer: NodeJS.Timeout | undefined
  #retryTimer: NodeJS.Timeout | undefined
  /** What is due is not handled before, as it failed; on the clock of `performance`. */
  #sweepAfter = 0
  #timers: NodeJS.Timeout[] = []
  #onClosed: () => void = () => {}
  #isClosing = false

  constructor(file: OpenedFile, data: ThreadData, time: TimeSource, port: MessagePort) {
    this.#file = file
    this.#path = data.path
    this.#host = new HostMessages(port)
    this.#context = new StoreContext(file.database, new StoreClock(time))
    this.#state = new ThreadState(new Liveness(data.lease), file.exclusive)
    this.#conditions = new Conditions(data.path, (change) => this.#host.condition(change))
    this.#members = new Members(data.path, file.exclusive, this.#context, this.#state, this.#host, {
      ask: (pending) => this.#ask(pending),
      guarded: (read) => this.#guarded(read),
      joined: () => {
        this.#beat()
        this.#sweep()
      },
      isOver: () => this.#conditions.fatal !== undefined,
    })
    this.#transactions = new Transactions(file.database, this.#context, this.#state, (effects) => this.#committed(effects))
    this.#dataVersion = file.database.prepare('PRAGMA data_version')
  }

  start(onClosed: () => void): void {
    this.#onClosed = onClosed
    this.#version = this.#readVersion()
    this.#timers = [setInterval(() => this.#beat(), BEAT), setInterval(() => this.#poll(), POLL)]
    this.#context.clock.read()
    this.#ask({ operation: { op: 'sweep' } })
  }

  /** Operations of the host. */
  receive(requests: readonly (Request | PackedCompletion)[]): void {
    for (const request of requests) {
      const { id, operation } = unpackRequest(request)
      this.#admit(id, operation)
    }
    this.#schedule()
  }

  #admit(id: number, operation: AnyOperation): void {
    const { fatal } = this.#conditions
    if (operation.op === 'close') void this.#close(id)
    else if (fatal !== undefined) this.#host.fail(id, fatal)
    else if (operation.op === 'openSession') void this.#members.open(id, operation.name, operation.schedulers)
    else if (operation.op === 'closeSession') void this.#release(operation.session).then(() => this.#answer(id))
    else if (operation.op === 'watch') void this.#members.watch(operation.on)
    else if (operation.op === 'claim' && this.#conditions.isFull) this.#host.claimed(id, { jobs: [], nextAt: undefined })
    else this.#pending.add({ id, operation })
  }

  #answer(id: number): void {
    this.#host.answer(id, undefined)
    this.#host.flush()
  }

  /** An operation of its own. Once the store is over, it fails at once. */
  #ask(given: Omit<Pending, 'id'> & { readonly id?: number }): void {
    const pending = { id: 0, ...given }
    const { fatal } = this.#conditions
    if (fatal !== undefined) this.#fail(pending, fatal)
    else {
      this.#pending.add(pending)
      this.#schedule()
    }
  }

  // ---- turns

  #schedule(): void {
    if (this.#retryTimer !== undefined || this.#turn !== undefined) return
    if (this.#pending.mayWait) this.#beganTimer ??= setTimeout(() => this.#run(), BEGAN_WAIT)
    else {
      this.#turn = setImmediate(() => {
        this.#turn = undefined
        this.#run()
      })
    }
  }

  #retryAfter(delay: number): void {
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = undefined
      this.#run()
    }, delay)
  }

  #run(): void {
    clearTimeout(this.#beganTimer)
    this.#beganTimer = undefined
    if (this.#conditions.fatal === undefined && this.#pending.hasWrites) this.#write(this.#pending.takeBatch())
    if (this.#conditions.fatal === undefined) for (const pending of this.#pending.takeReads()) this.#settle(pending, this.#transactions.read(pending.operation))
    this.#host.flush()
    if (!this.#pending.isEmpty) this.#schedule()
  }

  #write(batch: readonly Pending[]): void {
    const results = this.#transactions.run(batch.map(({ operation }) => operation))
    const later: Pending[] = []
    const lockedFor = results.includes('later') ? this.#conditions.lockedFor(performance.now()) : undefined
    batch.forEach((pending, index) => {
      const result = results[index]!
      if (result === 'later' ? !this.#postpone(pending, lockedFor!) : !this.#settle(pending, result)) later.push(pending)
    })
    this.#pending.putBack(later)
    if (lockedFor !== undefined) this.#retryAfter(nextTurnAfter(lockedFor))
    else if (later.length > 0) this.#retryAfter(FULL_RETRY)
    else this.#setDueTimer()
  }

  /** False: it waits for the lock. */
  #postpone({ id, operation }: Pending, lockedFor: number): boolean {
    if (operation.op !== 'claim' || lockedFor < CLAIM_WAIT) return false
    this.#host.claimed(id, { jobs: [], nextAt: this.#context.clock.wall + CLAIM_LATER })
    return true
  }

  /** False: it is to be tried again. */
  #settle(pending: Pending, result: Result): boolean {
    if (result === 'later') {
      this.#pending.putBack([pending])
      return true
    }
    if ('value' in result) {
      if (pending.operation.op === 'claim') this.#host.claimed(pending.id, result.value as Claim)
      else if (pending.id !== 0) this.#host.answer(pending.id, result.value)
      pending.done?.(result.value)
      return true
    }
    const { error } = result
    if (isCorrupt(error)) this.#end('corrupt', corruptError(this.#path, error))
    if (this.#conditions.fatal !== undefined) this.#fail(pending, this.#conditions.fatal)
    else if (isFull(error)) return this.#whileFull(pending, error)
    else this.#fail(pending, error)
    return true
  }

  #fail({ id, failed }: Pending, error: unknown): void {
    if (id !== 0) this.#host.fail(id, error)
    failed?.()
  }

  /** What ends a claim waits until there is room, while its session lives. False: it is to be tried again. */
  #whileFull(pending: Pending, cause: unknown): boolean {
    const { operation } = pending
    const error = this.#conditions.full(cause, performance.now())
    this.#checkIdentity()
    if (operation.op === 'claim') this.#host.claimed(pending.id, { jobs: [], nextAt: undefined })
    else if (operation.op === 'settle' || operation.op === 'began') {
      if (this.#state.own.has(operation.session)) return false
      if (pending.id !== 0) this.#host.answer(pending.id, false)
    } else if (operation.op === 'closeSession' || operation.op === 'sweepSession') return false
    else this.#fail(pending, error)
    return true
  }

  #committed(effects: Effects): void {
    if (this.#conditions.written(performance.now())) this.#host.work()
    if (effects.ready.size > 0) this.#host.work()
    if (this.#state.watches) this.#host.events(effects.events)
    this.#members.committed(effects)
  }

  // ---- what time brings

  #setDueTimer(): void {
    clearTimeout(this.#dueTimer)
    const at = this.#guarded(() => this.#transactions.onOneState(() => nextSweep(this.#context, this.#state.sweeper)))
    if (at === undefined) return
    const delay = Math.max(0, at - this.#context.clock.wall, this.#sweepAfter - performance.now())
    this.#dueTimer = setTimeout(() => this.#sweep(), Math.min(delay, MAX_TIMER))
  }

  #sweep(): void {
    this.#handleDue('sweep')
    if (this.#state.sweeper.schedulers) this.#handleDue('tick')
  }

  #handleDue(op: 'sweep' | 'tick'): void {
    if (this.#isClosing || this.#conditions.fatal !== undefined || this.#pending.includes(op)) return
    const done = (more: unknown): void => {
      if (more === true) this.#handleDue(op)
    }
    // What is due stays due: without a pause, what cannot be done would be tried all the time.
    const failed = (): void => {
      this.#sweepAfter = performance.now() + SWEEP_RETRY
    }
    this.#ask({ operation: { op }, done, failed })
  }

  #beat(): void {
    if (this.#conditions.fatal !== undefined) return
    this.#checkIdentity()
    this.#members.keepWatching()
    if (this.#state.own.size === 0 || this.#pending.includes('beat')) return
    this.#ask({ operation: { op: 'beat' }, done: (value) => this.#members.afterBeat(value as Beat) })
  }

  #poll(): void {
    if (this.#conditions.fatal !== undefined) return
    const version = this.#readVersion()
    if (version === this.#version) return
    this.#version = version
    this.#host.work()
    this.#host.settings()
    this.#host.flush()
    this.#setDueTimer()
  }

  #readVersion(): number {
    return Number(this.#guarded(() => this.#dataVersion.get()?.data_version) ?? this.#version)
  }

  /** Another process stops all with the file. */
  #checkIdentity(): void {
    if (this.#conditions.fatal === undefined && identityOf(this.#path) !== this.#file.identity) this.#end('removed', removedError(this.#path))
  }

  /** A read outside of an operation. Undefined: the file is locked, or worse, which the next operation will find. */
  #guarded<T>(read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      if (isCorrupt(error)) this.#end('corrupt', corruptError(this.#path, error))
      return undefined
    }
  }

  #end(condition: 'corrupt' | 'removed', error: Error & { readonly code: string }): void {
    if (this.#conditions.fatal !== undefined) return
    this.#conditions.end(condition, error as never)
    for (const timer of [...this.#timers, this.#dueTimer]) clearTimeout(timer)
    for (const session of [...this.#state.own.keys()]) this.#members.lose(session)
    for (const pending of this.#pending.drain()) this.#fail(pending, error)
    this.#host.flush()
  }

  // ---- the end

  /** Ends a session in order, if that can be done soon; else it is done as soon as it can be, or others find it dead. */
  async #release(session: number): Promise<void> {
    const isReleased = new AbortController()
    const released = new Promise<void>((resolve) => this.#members.release(session, resolve))
    await Promise.race([released, sleep(CLOSE_TIMEOUT, undefined, { signal: isReleased.signal }).catch(() => {})])
    isReleased.abort()
  }

  /** What was asked before is done first, for as long as there is time. */
  async #finish(): Promise<void> {
    const end = performance.now() + CLOSE_TIMEOUT
    while (!this.#pending.isEmpty && this.#conditions.fatal === undefined && performance.now() < end) await sleep(1)
  }

  async #close(id: number): Promise<void> {
    this.#isClosing = true
    for (const timer of this.#timers) clearInterval(timer)
    clearTimeout(this.#dueTimer)
    this.#state.watches = false
    const own = [...this.#state.own.keys()]
    if (this.#conditions.fatal === undefined) {
      await Promise.all([...own.map((session) => this.#release(session)), this.#finish()])
      // The session of a listener may have been on its way.
      const opened = [...this.#state.own.keys()].filter((session) => !own.includes(session))
      await Promise.all(opened.map((session) => this.#release(session)))
      try {
        this.#file.database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      } catch {}
    }
    for (const pending of this.#pending.drain()) this.#fail(pending, storeClosed())
    for (const timer of [this.#dueTimer, this.#retryTimer, this.#beganTimer]) clearTimeout(timer)
    clearImmediate(this.#turn)
    this.#members.end()
    try {
      this.#file.database.close()
    } catch {}
    this.#answer(id)
    this.#onClosed()
  }
}
