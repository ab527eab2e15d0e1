/** A process on a file: the store's own server, with a connection of its own, on a disk that has faults. */
import type { Database, SqlValue, Statement } from '../../../src/queue/store/sqlite/database/node-sqlite.js'
import { answersOf, type Operation, packRequest, type ToHost } from '../../../src/queue/store/sqlite/protocol.js'
import { openFile } from '../../../src/queue/store/sqlite/thread/open-file.js'
import { StoreServer } from '../../../src/queue/store/sqlite/thread/store-server.js'
import { contexts } from './clock.js'
import { type Machine, SimProcess } from './process.js'

/** How long a session may stand still, ms. */
export const LEASE = 5_000

/** What happens at its next commit. */
export type CommitFault =
  | { readonly kind: 'kill before' }
  | { readonly kind: 'kill after' }
  /** The disk takes so long. The lock is held meanwhile. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** It is stopped with the lock in its hand. */
  | { readonly kind: 'stop'; readonly ms: number }
  /** It beats, has seen `victim` stand still for a lease, and is stopped before it sweeps. `victim` goes on and beats before it does. One of several does so. */
  | { readonly kind: 'late sweep'; readonly victim: SimProcess; isOver: boolean }

const sqlError = (errcode: number): Error => Object.assign(new Error(`SQLite error ${errcode}`), { code: 'ERR_SQLITE_ERROR', errcode })

/** A sweep of a session, unless it has beaten since. */
const SWEEP = 'UPDATE session SET dead = 1 WHERE id = ?1 AND'

const BUSY = 5
const FULL = 13

export class FileProcess extends SimProcess {
  commitFault: CommitFault | undefined
  /** It dies before the statement that comes after so many. */
  statementsLeft = Number.POSITIVE_INFINITY
  readonly #server: StoreServer
  #isTransaction = false
  /** In its transaction. */
  #hasBeaten = false
  /** The beats of the sessions of others, as it has seen them at its own, and since when. */
  #seen = new Map<string, { readonly beat: number; readonly since: number }>()
  /** By its transaction. */
  #changed: 'nothing' | 'sessions' | 'anything' = 'nothing'

  constructor(name: string, machine: Machine, path: string) {
    super(name, machine)
    const file = contexts.run(this, () => openFile(path, false))
    this.atDeath.add(() => file.database.close())
    this.listens = !machine.world.random.chance(0.15)
    const port = { postMessage: (message: ToHost) => this.#toHost(message) }
    const time = { wall: () => this.wall(), monotonic: () => this.monotonic(), boot: 'the only one' }
    this.#server = contexts.run(
      this,
      () => new StoreServer({ ...file, database: this.#withFaults(file.database) }, { path, lease: LEASE }, time, port as never),
    )
    this.after(0, () => this.#server.start(() => this.kill()))
  }

  protected receive(id: number, operation: Operation): void {
    this.#server.receive([packRequest({ id, operation })])
  }

  #toHost(message: ToHost): void {
    if (!this.alive) return
    for (const id of message.lost ?? []) this.inHost(0, () => this.events.lost(id))
    for (const [id, value] of answersOf(message)) this.answered(id, { value })
    for (const [id, failure] of message.failures ?? []) this.answered(id, { failure })
    for (const { session, lease } of message.cancels ?? []) this.inHost(0.1, () => this.events.cancel(session, lease))
    for (const { condition } of message.conditions ?? []) {
      this.machine.checker.condition(this, condition)
      this.inHost(0.1, () => this.events.condition(condition))
    }
    if (message.settings === true) this.inHost(0.1, () => this.events.settings())
    if (message.work === true) this.inHost(0.1, () => this.events.work())
  }

  #withFaults(database: Database): Database {
    const prepare = (sql: string): Statement => {
      const statement = database.prepare(sql)
      const before = sql === 'BEGIN IMMEDIATE' ? () => this.#beforeBegin() : sql === 'COMMIT' ? () => this.#beforeCommit() : () => this.#beforeStatement()
      const after = sql === 'COMMIT' ? () => this.#afterCommit() : sql === 'ROLLBACK' ? () => this.#end() : () => {}
      const wrap =
        <T>(call: (...parameters: SqlValue[]) => T) =>
        (...parameters: SqlValue[]): T => {
          before()
          const result = call(...parameters)
          after()
          return result
        }
      const isBeat = sql.startsWith('UPDATE session SET beat')
      return {
        run: wrap((...parameters) => {
          const done = statement.run(...parameters)
          if (isBeat) this.#hasBeaten = true
          if (sql.startsWith(SWEEP) && Number(done.changes) === 0) this.#sweepRefused(Number(parameters[0]))
          if (Number(done.changes) > 0 && this.#changed !== 'anything') this.#changed = isBeat ? 'sessions' : 'anything'
          return done
        }),
        get: wrap((...parameters) => statement.get(...parameters)),
        all: wrap((...parameters) => statement.all(...parameters)),
      }
    }
    return {
      prepare,
      exec: (sql) => {
        this.#live()
        database.exec(sql)
      },
      close: () => {},
    }
  }

  /** The code of a dead process does nothing any more. */
  #live(): void {
    if (!this.alive) throw new Error('killed')
  }

  #beforeStatement(): void {
    this.#live()
    if (this.#isTransaction && --this.statementsLeft < 0) {
      this.machine.checker.coverage.add('killed in a transaction')
      this.kill()
      this.#live()
    }
  }

  #beforeBegin(): void {
    this.#live()
    if (this.machine.world.now < this.machine.lockedUntil) throw sqlError(BUSY)
    this.#isTransaction = true
    this.#changed = 'nothing'
    this.#hasBeaten = false
    this.transactionAt = this.machine.world.now
    this.transactionWall = this.wall()
  }

  #end(): void {
    this.#isTransaction = false
  }

  /** What it does with what it has read waits until it continues. */
  #sweepLate(fault: CommitFault & { readonly kind: 'late sweep' }): void {
    const { checker, world } = this.machine
    const { victim } = fault
    if (!fault.isOver && (!this.#hasBeaten || !this.#seesStill(victim))) return
    this.commitFault = undefined
    if (fault.isOver) return
    fault.isOver = true
    checker.coverage.add('a sweep was late')
    this.stop()
    victim.continue()
    world.schedule(2_500, () => this.continue())
  }

  #sweepRefused(session: number): void {
    const { checker } = this.machine
    const lives = [...checker.snapshot.sessions.values()].some(({ id, dead }) => id === session && !dead)
    if (lives) checker.coverage.add('a sweep was refused, as its session has beaten')
  }

  /** Looks at the sessions of others. They are swept from the moment on at which one beat has been seen for a lease. */
  #look(): void {
    const { checker, world } = this.machine
    const seen = new Map<string, { readonly beat: number; readonly since: number }>()
    for (const [name, { beat, dead }] of checker.snapshot.sessions) {
      const before = this.#seen.get(name)
      if (!dead) seen.set(name, before?.beat === beat ? before : { beat, since: world.now })
    }
    this.#seen = seen
  }

  #seesStill(victim: SimProcess): boolean {
    const { checker, world } = this.machine
    return [...this.#seen].some(([name, { since }]) => checker.ownerOf(name) === victim && world.now - since >= LEASE)
  }

  #beforeCommit(): void {
    this.#live()
    const { machine, commitFault: fault } = this
    if (fault !== undefined && fault.kind !== 'kill after' && fault.kind !== 'late sweep') {
      this.commitFault = undefined
      machine.checker.coverage.add(`${fault.kind} at a commit`)
      if (fault.kind === 'kill before') this.kill()
      else {
        if (fault.kind === 'stop') {
          this.stop()
          machine.world.schedule(fault.ms, () => this.continue())
        }
        this.wait(fault.ms)
      }
      this.#live()
    }
    if (machine.world.now < machine.fullUntil) throw sqlError(FULL)
  }

  #afterCommit(): void {
    this.#end()
    if (this.#changed !== 'nothing') this.machine.checker.committed(this, this.#changed === 'sessions')
    if (this.#hasBeaten) this.#look()
    if (this.commitFault?.kind === 'late sweep') this.#sweepLate(this.commitFault)
    if (this.commitFault?.kind !== 'kill after') return
    this.machine.checker.coverage.add('kill after a commit')
    this.kill()
    this.#live()
  }
}
