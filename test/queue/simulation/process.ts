/** A simulated process with a store: it may be killed, and stopped for as long as one likes, at any moment. */
import type { Failure, Operation } from '../../../src/queue/store/sqlite/protocol.js'
import type { Lease, StoreCondition } from '../../../src/queue/store/store.js'
import type { World } from '../../simulation/world.js'
import type { Checker } from './checker.js'
import { contexts, type TimeContext } from './clock.js'
import type { SocketOwner } from './sockets.js'

/** What all processes of a run share. */
export interface Machine {
  readonly world: World
  readonly checker: Checker
  /** What the wall clock is off by, ms. */
  wallOffset: number
  /** Some other program holds the lock of the file until then. */
  lockedUntil: number
  /** A process is at the disk until then, and holds the lock. */
  atDiskUntil: number
  /** No room is left on the disk until then. */
  fullUntil: number
}

/** The wall clock at the start of a run. */
export const EPOCH = 1_800_000_000_000
/** The monotonic clock at the start of a run. */
const BOOTED = 5_000_000

/** What a host is told by its store. */
export interface HostEvents {
  work(): void
  lost(session: number): void
  cancel(session: number, lease: Lease): void
  settings(): void
  condition(condition: StoreCondition): void
}

export type Answer = { readonly value: unknown } | { readonly failure: Failure }

export interface Asked {
  readonly operation: Operation
  readonly done: (answer: Answer) => void
}

/** Between the host and its thread, ms. */
const CROSSING = 0.05

export abstract class SimProcess implements TimeContext, SocketOwner {
  readonly name: string
  readonly machine: Machine
  readonly atDeath = new Set<() => void>()
  /** What it has asked of its store, and has no answer to. */
  readonly asked = new Map<number, Asked>()
  alive = true
  silent = false
  /** False: it could not make a socket. */
  listens = true
  /** It was asked to end its session. It may be answered before that is done. */
  isClosing = false
  /** When its transaction began; undefined: all of it happens at once. */
  transactionAt: number | undefined
  /** The wall clock then. */
  transactionWall: number | undefined
  diedAt = Number.POSITIVE_INFINITY
  events: HostEvents = { work: () => {}, lost: () => {}, cancel: () => {}, settings: () => {}, condition: () => {} }
  /** Since when it has been stopped, and for how long it was before. */
  #stoppedAt: number | undefined
  #stoppedFor = 0
  /** Its thread is at the disk. */
  protected blocked = false
  #deferred: (() => void)[] = []
  #lastId = 0

  constructor(name: string, machine: Machine) {
    this.name = name
    this.machine = machine
  }

  // ---- time

  monotonic(): number {
    return BOOTED + this.machine.world.now
  }

  wall(): number {
    return Math.floor(EPOCH + this.machine.world.now + this.machine.wallOffset)
  }

  random(): number {
    return this.machine.world.random.next()
  }

  /** In its thread. */
  after(ms: number, fn: () => void): void {
    this.#schedule(ms, fn, true)
  }

  /** In its host, whose loop does not wait for the disk. */
  inHost(ms: number, fn: () => void): void {
    this.#schedule(ms, fn, false)
  }

  block(ms: number): void {
    const { machine } = this
    // A file that is locked for long would be tried many thousand times.
    const isLong = Math.max(machine.lockedUntil, machine.atDiskUntil) - machine.world.now > 300
    machine.world.now += isLong ? 20 * ms : ms
  }

  #schedule(ms: number, fn: () => void, inThread: boolean): void {
    const run = (): void => {
      if (!this.alive) return
      if (this.stopped || (inThread && this.blocked)) {
        this.#deferred.push(run)
        return
      }
      this.machine.world.mayHaveSettled = true
      contexts.run(this, fn)
    }
    this.machine.world.schedule(ms, run)
  }

  #resume(): void {
    const deferred = this.#deferred
    this.#deferred = []
    for (const run of deferred) this.machine.world.schedule(0, run)
  }

  /** Virtual time passes, for other processes, in the midst of a call of this one. */
  protected wait(ms: number): void {
    const { machine } = this
    const { world } = machine
    this.blocked = true
    const end = world.now + ms
    machine.atDiskUntil = Math.max(machine.atDiskUntil, end)
    machine.checker.quietUntil = Math.max(machine.checker.quietUntil, end + 2_000)
    contexts.exit(() => world.runNested(end))
    while (this.alive && this.stopped) contexts.exit(() => world.runNested(world.now + 100))
    this.blocked = false
    machine.checker.quietUntil = Math.max(machine.checker.quietUntil, world.now + 2_000)
    this.#resume()
  }

  // ---- what befalls it

  get stopped(): boolean {
    return this.#stoppedAt !== undefined
  }

  /** ms that it has been stopped for since it began. */
  get stoppedFor(): number {
    return this.#stoppedFor + (this.#stoppedAt === undefined ? 0 : this.machine.world.now - this.#stoppedAt)
  }

  stop(): void {
    this.#stoppedAt ??= this.machine.world.now
    this.machine.world.trace(`${this.name} is stopped`)
  }

  continue(): void {
    if (this.#stoppedAt === undefined) return
    this.#stoppedFor = this.stoppedFor
    this.#stoppedAt = undefined
    this.machine.world.trace(`${this.name} continues`)
    this.#resume()
  }

  kill(): void {
    if (!this.alive) return
    this.machine.world.trace(`${this.name} is killed`)
    this.alive = false
    this.diedAt = this.machine.world.now
    for (const end of this.atDeath) end()
  }

  // ---- its store

  /** Asks the store. `done` is called in the host, unless the process is dead by then. */
  ask(operation: Operation, done?: (answer: Answer) => void): void {
    const id = done === undefined && (operation.op === 'began' || operation.op === 'progress') ? 0 : ++this.#lastId
    if (id !== 0) this.asked.set(id, { operation, done: done ?? (() => {}) })
    this.isClosing ||= operation.op === 'closeSession' || operation.op === 'close'
    this.machine.checker.asked(this, operation)
    this.after(CROSSING, () => this.receive(id, operation))
  }

  protected abstract receive(id: number, operation: Operation): void

  /** The store has answered. */
  protected answered(id: number, answer: Answer): void {
    const asked = this.asked.get(id)
    if (asked === undefined || !this.alive) return
    this.asked.delete(id)
    this.machine.checker.answered(this, asked.operation, answer)
    this.inHost(CROSSING, () => asked.done(answer))
  }
}
