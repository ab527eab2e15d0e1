import { clearTimeout, monotonic, setTimeout } from '../../util/node-time.js'
import { LimitStage, SOFT_TO_KILL } from '../../wire/messages.js'
import type { WatchdogContext } from './context.js'
import { Interruption } from './interruption.js'
import { NOT_ARMED, SlotTime, Time, Word } from './shared-records.js'

/** Which limits of the job in one slot have been acted on. */
interface SlotLimits {
  delivery: number
  soft: boolean
  hard: boolean
}

/** Keeps the limits of the running jobs: checks their records when the earliest deadline is due, or when a message announces an earlier one. */
export class LimitTimer {
  readonly #context: WatchdogContext
  readonly #slots: SlotLimits[]
  #timer: NodeJS.Timeout | undefined

  constructor(context: WatchdogContext) {
    this.#context = context
    this.#slots = Array.from({ length: context.records.slots }, () => ({ delivery: 0, soft: false, hard: false }))
  }

  /** Acts on every deadline that has passed and sets the timer for the next. */
  check(): void {
    const { records } = this.#context
    clearTimeout(this.#timer)
    // Stored before the records are read: a job that begins meanwhile is either read here, or its thread sees NOT_ARMED and sends a message.
    Atomics.store(records.ints, Word.ARMED, NOT_ARMED)
    const now = monotonic()
    let next = Number.POSITIVE_INFINITY
    for (let slot = 0; slot < records.slots; slot++) next = Math.min(next, this.#checkSlot(slot, now))
    if (next === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(() => this.check(), Math.max(0, Math.min(next - now, NOT_ARMED - 1)) + 1)
    Atomics.store(records.ints, Word.ARMED, Math.min(Math.floor(next - records.times[Time.BASE]!), NOT_ARMED))
  }

  /** Returns when the slot's next deadline is due. */
  #checkSlot(slot: number, now: number): number {
    const { records, cancelGrace } = this.#context
    const delivery = records.deliveryIn(slot)
    if (delivery === 0) return Number.POSITIVE_INFINITY
    const at = records.timesOf(slot)
    const softAt = records.times[at + SlotTime.SOFT_AT]!
    const hardAt = records.times[at + SlotTime.HARD_AT]!
    const softLimit = records.times[at + SlotTime.SOFT_LIMIT]!
    const blocked = records.blocked(now) - records.times[at + SlotTime.BLOCKED_BEFORE]!
    // Another job took the slot while its record was read: its own message or check follows.
    if (records.deliveryIn(slot) !== delivery) return now
    if (softAt === 0 && hardAt === 0) return Number.POSITIVE_INFINITY

    const limits = this.#slots[slot]!
    if (limits.delivery !== delivery) Object.assign(limits, { delivery, soft: softAt === 0, hard: false })
    const killAt = (hardAt === 0 ? softAt + SOFT_TO_KILL * cancelGrace : hardAt) + blocked
    if (!limits.hard && now >= killAt) {
      limits.hard = true
      limits.soft = true
      this.#context.requestKill(LimitStage.HARD, delivery)
    }
    if (!limits.soft && now >= softAt + blocked) {
      limits.soft = true
      this.#softLimit(delivery, softLimit)
    }
    if (limits.hard) return Number.POSITIVE_INFINITY
    return limits.soft ? killAt : Math.min(softAt + blocked, killAt)
  }

  #softLimit(delivery: number, limit: number): void {
    const { main, lifeline, cancelGrace } = this.#context
    const turn = main.soft(delivery, limit)
    lifeline.limit(LimitStage.SOFT, delivery, 0, '')
    new Interruption(this.#context, delivery, 'soft', turn, cancelGrace)
  }
}
