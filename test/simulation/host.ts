import type { Clock, KeepAlive } from '../../src/hub/index.js'
import { type Planned, settlePromises, type World } from './world.js'

/** What the poll of the host's event loop may find. */
export interface Pollable {
  readyAt: number
  poll(): void
}

interface Timer {
  at: number
  fn: () => void
}

/** How long the host's own code takes in one turn, at the most, ms: the loop is not called back in no time. */
const TURN_MS = 0.02

/**
 * The host's event loop, with the phases of Node's: timers, then the poll, then what waits for it (setImmediate). It may be
 * stalled, as by synchronous code: nothing is called then, and everything that is due comes in the next turn.
 */
export class Host implements Clock {
  stalledUntil = 0
  /** Whether the pool keeps the process alive. */
  kept = false
  lifeEnded = false
  /** What each look at the clock costs, ms: a slow host. */
  lookCost = 0
  readonly #world: World
  readonly #timers = new Map<number, Timer>()
  #timerId = 0
  #immediates: (() => void)[] = []
  readonly #ready = new Set<Pollable>()
  #planned: Planned | undefined
  #turning = false

  constructor(world: World) {
    this.#world = world
  }

  // ---- the clock that the hub is given

  now(): number {
    const world = this.#world
    world.now += this.lookCost
    return world.now
  }

  setTimer(fn: () => void, ms: number): unknown {
    const id = ++this.#timerId
    this.#timers.set(id, { at: this.#world.now + Math.max(1, ms), fn })
    this.#plan()
    return id
  }

  clearTimer(handle: unknown): void {
    this.#timers.delete(handle as number)
  }

  afterPoll(fn: () => void): void {
    this.#immediates.push(fn)
    this.#plan()
  }

  keepAlive(): KeepAlive {
    return {
      hold: () => {
        this.kept = true
      },
      release: () => {
        this.kept = false
      },
      close: () => {
        this.kept = false
        this.lifeEnded = true
      },
    }
  }

  // ---- the world's side

  /** Timers, immediates and descriptors that would still call somebody. */
  get leftovers(): { timers: number; immediates: number; ready: number } {
    return { timers: this.#timers.size, immediates: this.#immediates.length, ready: this.#ready.size }
  }

  /** The poll finds it, `latency` ms from now at the earliest. */
  ready(pollable: Pollable, latency: number): void {
    const at = this.#world.now + latency
    if (this.#ready.has(pollable)) pollable.readyAt = Math.min(pollable.readyAt, at)
    else {
      pollable.readyAt = at
      this.#ready.add(pollable)
    }
    this.#plan()
  }

  gone(pollable: Pollable): void {
    this.#ready.delete(pollable)
  }

  stall(ms: number): void {
    this.stalledUntil = Math.max(this.stalledUntil, this.#world.now + ms)
    if (this.#planned !== undefined) this.#planned.cancelled = true
    this.#planned = undefined
    this.#plan()
  }

  #nextAt(): number {
    if (this.#immediates.length > 0) return this.#world.now + TURN_MS
    let at = Number.POSITIVE_INFINITY
    for (const timer of this.#timers.values()) at = Math.min(at, timer.at)
    for (const pollable of this.#ready) at = Math.min(at, pollable.readyAt)
    return Math.max(at, this.#world.now)
  }

  #plan(): void {
    if (this.#turning) return
    const at = Math.max(this.#nextAt(), this.stalledUntil)
    if (at === Number.POSITIVE_INFINITY) return
    if (this.#planned !== undefined) {
      if (this.#planned.at <= at) return
      this.#planned.cancelled = true
    }
    this.#planned = this.#world.after(Math.max(0, at - this.#world.now), () => this.#turn())
  }

  async #turn(): Promise<void> {
    const world = this.#world
    this.#planned = undefined
    this.#turning = true
    const due = [...this.#timers.entries()].filter(([, { at }]) => at <= world.now).sort(([, a], [, b]) => a.at - b.at)
    for (const [id, timer] of due) {
      // One of them may clear another.
      if (this.#timers.delete(id)) timer.fn()
    }
    if (due.length > 0) await settlePromises()
    const found = [...this.#ready].filter(({ readyAt }) => readyAt <= world.now)
    for (const pollable of found) this.#ready.delete(pollable)
    for (const pollable of found.length > 1 ? world.random.shuffle(found) : found) pollable.poll()
    if (found.length > 0) await settlePromises()
    const waiting = this.#immediates
    this.#immediates = []
    for (const fn of waiting) fn()
    if (waiting.length > 0) await settlePromises()
    this.#turning = false
    this.#plan()
  }
}
