import type { Clock, KeepAlive } from '../../src/hub/index.js'
import { type ScheduledEvent, settlePromises, type World } from './world.js'

/** A file descriptor that the host's event loop polls. */
export interface Pollable {
  readyAt: number
  poll(): void
}

interface Timer {
  at: number
  fn: () => void
}

/** The virtual time between two turns while setImmediate callbacks are pending, ms. */
const TURN_MS = 0.02

/**
 * The host's event loop, with the phases of Node's: timers, then the poll, then setImmediate callbacks. It can be stalled, as by
 * synchronous code: it then calls nothing, and the next turn handles everything that is due.
 */
export class Host implements Clock {
  stalledUntil = 0
  /** The pool keeps the process alive. */
  isKeptAlive = false
  keepAliveClosed = false
  /** How long each read of the clock takes, ms: above 0 on a slow host. */
  clockReadCost = 0
  readonly #world: World
  readonly #timers = new Map<number, Timer>()
  #timerId = 0
  #immediates: (() => void)[] = []
  readonly #ready = new Set<Pollable>()
  #nextTurn: ScheduledEvent | undefined
  #turning = false

  constructor(world: World) {
    this.#world = world
  }

  // ---- the hub's clock

  now(): number {
    const world = this.#world
    world.now += this.clockReadCost
    return world.now
  }

  setTimer(fn: () => void, ms: number): unknown {
    const id = ++this.#timerId
    this.#timers.set(id, { at: this.#world.now + Math.max(1, ms), fn })
    this.#scheduleTurn()
    return id
  }

  clearTimer(handle: unknown): void {
    this.#timers.delete(handle as number)
  }

  afterPoll(fn: () => void): void {
    this.#immediates.push(fn)
    this.#scheduleTurn()
  }

  afterCode(fn: () => void): void {
    this.#world.mayHaveSettled = true
    process.nextTick(fn)
  }

  keepAlive(): KeepAlive {
    return {
      hold: () => {
        this.isKeptAlive = true
      },
      release: () => {
        this.isKeptAlive = false
      },
      close: () => {
        this.isKeptAlive = false
        this.keepAliveClosed = true
      },
    }
  }

  // ---- for the simulation

  /** The number of timers, immediates and ready descriptors that have not been handled. */
  get pendingWork(): { timers: number; immediates: number; ready: number } {
    return { timers: this.#timers.size, immediates: this.#immediates.length, ready: this.#ready.size }
  }

  /** The poll finds the descriptor ready in `latency` ms at the earliest. */
  markReady(pollable: Pollable, latency: number): void {
    const at = this.#world.now + latency
    if (this.#ready.has(pollable)) pollable.readyAt = Math.min(pollable.readyAt, at)
    else {
      pollable.readyAt = at
      this.#ready.add(pollable)
    }
    this.#scheduleTurn()
  }

  forget(pollable: Pollable): void {
    this.#ready.delete(pollable)
  }

  stall(ms: number): void {
    this.stalledUntil = Math.max(this.stalledUntil, this.#world.now + ms)
    if (this.#nextTurn !== undefined) this.#nextTurn.cancelled = true
    this.#nextTurn = undefined
    this.#scheduleTurn()
  }

  #nextDue(): number {
    if (this.#immediates.length > 0) return this.#world.now + TURN_MS
    let at = Number.POSITIVE_INFINITY
    for (const timer of this.#timers.values()) at = Math.min(at, timer.at)
    for (const pollable of this.#ready) at = Math.min(at, pollable.readyAt)
    return Math.max(at, this.#world.now)
  }

  #scheduleTurn(): void {
    if (this.#turning) return
    const at = Math.max(this.#nextDue(), this.stalledUntil)
    if (at === Number.POSITIVE_INFINITY) return
    if (this.#nextTurn !== undefined) {
      if (this.#nextTurn.at <= at) return
      this.#nextTurn.cancelled = true
    }
    this.#nextTurn = this.#world.schedule(Math.max(0, at - this.#world.now), () => this.#turn())
  }

  async #turn(): Promise<void> {
    const world = this.#world
    this.#nextTurn = undefined
    this.#turning = true
    const due = [...this.#timers.entries()].filter(([, { at }]) => at <= world.now).sort(([, a], [, b]) => a.at - b.at)
    for (const [id, timer] of due) {
      // A timer may clear another one that is due.
      if (this.#timers.delete(id)) timer.fn()
    }
    if (due.length > 0) await settlePromises()
    const found = [...this.#ready].filter(({ readyAt }) => readyAt <= world.now)
    for (const pollable of found) this.#ready.delete(pollable)
    for (const pollable of found.length > 1 ? world.random.shuffle(found) : found) pollable.poll()
    if (found.length > 0) await settlePromises()
    const immediates = this.#immediates
    this.#immediates = []
    for (const fn of immediates) fn()
    if (immediates.length > 0) await settlePromises()
    this.#turning = false
    this.#scheduleTurn()
  }
}
