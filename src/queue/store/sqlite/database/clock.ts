import { readFileSync } from 'node:fs'
import { JUMP, monotonicNow } from '../../clock-jumps.js'
import type { Statements } from './statements.js'

/** Where the times of a store come from. */
export interface TimeSource {
  /** ms since the epoch, as the system's clock shows it. */
  wall(): number
  /** ms of a clock that nobody sets and that all processes share until the next boot. */
  monotonic(): number
  /** Names the boot of `monotonic`. */
  readonly boot: string
}

const bootOf = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Without it a jump is not told from a boot: nothing is moved.
    return `unknown ${process.pid} ${Math.random()}`
  }
}

export const systemTime = (): TimeSource => ({
  wall: Date.now,
  monotonic: monotonicNow,
  boot: bootOf(),
})

interface StoredClock {
  readonly boot: string
  /** Wall clock minus monotonic clock, as the processes last agreed. */
  readonly offset: number
  /** The sum of all jumps. */
  readonly shift: number
}

/**
 * The times of one transaction. Delays are stored on a clock of their own, the wall clock without its jumps: when the wall clock is set, one row
 * changes and every delay has moved, once, whichever process sees the jump first.
 */
export class StoreClock {
  readonly #source: TimeSource
  #stored: StoredClock | undefined
  /** ms since the epoch. */
  now = 0

  constructor(source: TimeSource) {
    this.#source = source
  }

  /** The wall clock at this moment, not at the beginning of the transaction. */
  get wall(): number {
    return this.#source.wall()
  }

  get monotonic(): number {
    return this.#source.monotonic()
  }

  /** What the wall clock is ahead of the monotonic one, ms. */
  get offset(): number {
    return this.wall - this.monotonic
  }

  /** The time of delays, ms. */
  get relative(): number {
    return this.now - this.shift
  }

  /** What is to be added to the time of a delay to get the wall clock's. */
  get shift(): number {
    return this.#stored?.shift ?? 0
  }

  /** Reads the time, for a transaction that changes nothing. */
  read(): void {
    this.now = this.#source.wall()
  }

  /** Begins a transaction. Returns the jump that it is the first to see, ms; 0: none. */
  begin(sql: Statements): number {
    this.read()
    const offset = this.now - this.#source.monotonic()
    if (this.#agrees(offset)) return 0
    const text = sql.meta.get('clock')?.value as string | undefined
    if (text !== undefined) this.#stored = JSON.parse(text) as StoredClock
    if (this.#agrees(offset)) return 0
    const { boot } = this.#source
    // Time that passed while the machine was off has passed for delays too.
    const jump = this.#stored?.boot === boot ? Math.round(offset - this.#stored.offset) : 0
    const next: StoredClock = { boot, offset, shift: this.shift + jump }
    if (text === undefined) sql.setMeta.run('clock', JSON.stringify(next))
    else sql.swapMeta.run('clock', text, JSON.stringify(next))
    this.#stored = next
    return jump
  }

  /** A transaction was rolled back: what it stored is to be read again. */
  forget(): void {
    this.#stored = undefined
  }

  #agrees(offset: number): boolean {
    return this.#stored !== undefined && this.#stored.boot === this.#source.boot && Math.abs(offset - this.#stored.offset) <= JUMP
  }
}
