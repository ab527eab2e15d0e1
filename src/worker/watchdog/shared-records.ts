import { monotonic } from '../../util/node-time.js'
/**
 * The memory that the main thread and its watchdog share. The main thread writes the records of its slots; the watchdog reads them.
 * Both write `CLAIM`, `SYNC` and `ARMED`; `INTERRUPTED` and `PROFILED` are the watchdog's. A plain store is used where a stale read causes no more than a small delay.
 */

/** Int32 words. */
export const Word = {
  /** See claim.ts. */
  CLAIM: 0,
  /** The delivery whose task the main thread is calling synchronously; 0: none. */
  SYNC: 1,
  /** 1 while the main thread writes results. */
  WRITING: 2,
  /** Number of the watchdog's last message that the main thread has handled. */
  TURN: 3,
  /** When the watchdog next checks the deadlines, in ms since `Time.BASE`; NOT_ARMED: not before a message. */
  ARMED: 4,
  /** The delivery whose synchronous call is being terminated, until it has unwound; 0: none. */
  INTERRUPTED: 5,
  /** 1 while a session of the profiler is connected. */
  PROFILED: 6,
  /** One word for each slot: the delivery that runs there; 0: none. */
  SLOTS: 7,
} as const

/** Float64 times, in ms of the monotonic clock unless said otherwise. */
export const Time = {
  /** When this memory was made. */
  BASE: 0,
  /** How long (not when) the main thread has been blocked in writes while limits were running. */
  BLOCKED: 1,
  /** Since when it has been in such a write; 0: it is not. */
  WRITING_SINCE: 2,
  /** When it last handled a message from the watchdog. */
  TURNED_AT: 3,
  SLOTS: 4,
} as const

/** Of each slot, in Float64 times from Time.SLOTS on. */
export const SlotTime = {
  /** When the soft limit passes, blocked time not included; 0: none. */
  SOFT_AT: 0,
  HARD_AT: 1,
  /** The soft limit itself, in ms. */
  SOFT_LIMIT: 2,
  /** `Time.BLOCKED` when the job began. */
  BLOCKED_BEFORE: 3,
} as const
const SLOT_TIMES = 4

export const NOT_ARMED = 0x7fff_ffff

export class SharedRecords {
  readonly buffer: SharedArrayBuffer
  readonly slots: number
  readonly ints: Int32Array
  readonly times: Float64Array

  /** Each thread has its own view of the same memory. Without `buffer` it is allocated. */
  constructor(slots: number, buffer?: SharedArrayBuffer) {
    const timesAt = Math.ceil((Word.SLOTS + slots) / 2) * 8
    this.slots = slots
    this.buffer = buffer ?? new SharedArrayBuffer(timesAt + (Time.SLOTS + slots * SLOT_TIMES) * 8)
    this.ints = new Int32Array(this.buffer, 0, Word.SLOTS + slots)
    this.times = new Float64Array(this.buffer, timesAt)
    if (buffer === undefined) {
      this.times[Time.BASE] = monotonic()
      this.ints[Word.ARMED] = NOT_ARMED
    }
  }

  /** Index in `times` of a slot's first time. */
  timesOf(slot: number): number {
    return Time.SLOTS + slot * SLOT_TIMES
  }

  deliveryIn(slot: number): number {
    return Atomics.load(this.ints, Word.SLOTS + slot)
  }

  /** The slot in which the delivery runs; -1: it does not, yet or any more. */
  slotOf(delivery: number): number {
    for (let slot = 0; slot < this.slots; slot++) if (this.deliveryIn(slot) === delivery) return slot
    return -1
  }

  /** The oldest delivery that runs; 0: none. */
  oldestDelivery(): number {
    let oldest = 0
    for (let slot = 0; slot < this.slots; slot++) {
      const delivery = this.deliveryIn(slot)
      if (delivery !== 0 && (oldest === 0 || delivery < oldest)) oldest = delivery
    }
    return oldest
  }

  /** How long the main thread has been blocked in writes so far, ms, the one under way included. */
  blocked(now: number): number {
    const since = this.times[Time.WRITING_SINCE]!
    return this.times[Time.BLOCKED]! + (since === 0 ? 0 : Math.max(0, now - since))
  }
}
