import type { Clock } from '../../src/hub/index.js'

interface FakeTimer {
  at: number
  fn: () => void
}

/** Time that a test advances. `beforePoll` may bring bytes, as the kernel would. */
export class FakeClock implements Clock {
  time = 0
  /** What would keep the process alive. */
  kept = false
  lifeEnded = false
  timersSet = 0
  readonly delays: number[] = []
  beforePoll: () => void = () => {}
  readonly #timers = new Set<FakeTimer>()
  #polls: (() => void)[] = []

  now(): number {
    return this.time
  }

  setTimer(fn: () => void, ms: number): FakeTimer {
    const timer = { at: this.time + ms, fn }
    this.#timers.add(timer)
    this.timersSet++
    this.delays.push(ms)
    return timer
  }

  clearTimer(handle: unknown): void {
    this.#timers.delete(handle as FakeTimer)
  }

  afterCode(fn: () => void): void {
    process.nextTick(fn)
  }

  afterPoll(fn: () => void): void {
    this.#polls.push(fn)
  }

  keepAlive() {
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

  get timers(): number {
    return this.#timers.size
  }

  /** Callbacks that wait for the next poll. */
  get polls(): number {
    return this.#polls.length
  }

  /** The loop polls once. */
  poll(): void {
    this.beforePoll()
    for (const fn of this.#polls.splice(0)) fn()
  }

  /** The loop polls until nothing waits for a poll. */
  pollUntilQuiet(limit = 10_000): void {
    for (let i = 0; this.#polls.length > 0; i++) {
      if (i > limit) throw new Error('It polls without end.')
      this.poll()
    }
  }

  /** Each timer fires when it is due, and the loop polls. */
  advance(ms: number): void {
    const until = this.time + ms
    for (;;) {
      const due = this.#first()
      if (due === undefined || due.at > until) break
      this.time = Math.max(this.time, due.at)
      this.#fire(due)
      this.pollUntilQuiet()
    }
    this.time = until
  }

  /** The host is busy for `ms`: then all that is due fires, late. */
  stall(ms: number): void {
    this.time += ms
    for (let due = this.#first(); due !== undefined && due.at <= this.time; due = this.#first()) this.#fire(due)
  }

  #first(): FakeTimer | undefined {
    let first: FakeTimer | undefined
    for (const timer of this.#timers) if (first === undefined || timer.at < first.at) first = timer
    return first
  }

  #fire(timer: FakeTimer): void {
    this.#timers.delete(timer)
    timer.fn()
  }
}

type Listener = (...args: never[]) => void

class FakeStream {
  destroyed = false
  readonly #listeners = new Map<string, Listener[]>()

  on(event: string, listener: Listener): this {
    const all = this.#listeners.get(event) ?? []
    all.push(listener)
    this.#listeners.set(event, all)
    return this
  }

  emit(event: string, ...args: unknown[]): void {
    for (const listener of this.#listeners.get(event) ?? []) (listener as (...args: unknown[]) => void)(...args)
  }

  destroy(): void {
    this.destroyed = true
  }
}

export class FakeReadable extends FakeStream {
  paused = false

  bring(text: string | Buffer): void {
    this.emit('data', Buffer.from(text as string))
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }
}

/** A stream that hands to its kernel what `takes` allows at each write, and keeps the rest, by reference, as a socket does. */
export class FakeWritable extends FakeStream {
  corks = 0
  readonly written: Buffer[] = []
  /** Parts as they were handed over. */
  readonly parts: Uint8Array[] = []
  #pending: Uint8Array[] = []
  /** Bytes that the kernel takes at this write. */
  takes: () => number = () => Number.POSITIVE_INFINITY
  #needDrain = false

  get writableLength(): number {
    return this.#pending.reduce((sum, part) => sum + part.length, 0)
  }

  get bytes(): Buffer {
    return Buffer.concat(this.written)
  }

  write(part: Uint8Array): boolean {
    this.parts.push(part)
    this.#pending.push(part)
    if (this.corks === 0) this.#toKernel()
    const more = this.writableLength === 0
    if (!more) this.#needDrain = true
    return more
  }

  cork(): void {
    this.corks++
  }

  uncork(): void {
    if (--this.corks === 0) this.#toKernel()
  }

  /** The other side has read: the kernel takes all, and the stream emits drain. */
  drain(): void {
    this.#copy(Number.POSITIVE_INFINITY)
    if (!this.#needDrain) return
    this.#needDrain = false
    this.emit('drain')
  }

  #toKernel(): void {
    this.#copy(this.takes())
  }

  #copy(limit: number): void {
    let left = limit
    while (this.#pending.length > 0 && left > 0) {
      const part = this.#pending[0]!
      const taken = part.subarray(0, Math.min(left, part.length))
      this.written.push(Buffer.from(taken))
      left -= taken.length
      if (taken.length === part.length) this.#pending.shift()
      else this.#pending[0] = part.subarray(taken.length)
    }
  }
}
