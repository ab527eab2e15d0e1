import { LimitStage } from '../../wire/messages.js'
import type { WatchdogContext } from './context.js'
import { Interruption } from './interruption.js'
import { monotonic, NOT_ARMED, SlotTime, Time, Word } from './shared-records.js'

/** A job that its soft limit alone has not stopped is ended after this many `cancelGrace`. */
const SOFT_TO_END = 5

/** What has been done about the job in one slot. */
interface Told {
  delivery: number
  soft: boolean
  hard: boolean
}

/** Keeps the limits of the jobs that run: looks at their records when the earliest deadline is due, or when told of an earlier one. */
export class LimitTimer {
  readonly #watch: WatchdogContext
  readonly #told: Told[]
  #timer: NodeJS.Timeout | undefined

  constructor(watch: WatchdogContext) {
    this.#watch = watch
    this.#told = Array.from({ length: watch.records.slots }, () => ({ delivery: 0, soft: false, hard: false }))
  }

  /** Deals with every deadline that has passed and sets the timer for the next. */
  check(): void {
    const { records } = this.#watch
    clearTimeout(this.#timer)
    // Before the records are read: a job that begins meanwhile is either read here or finds this and tells.
    Atomics.store(records.words, Word.ARMED, NOT_ARMED)
    const now = monotonic()
    let next = Number.POSITIVE_INFINITY
    for (let slot = 0; slot < records.slots; slot++) next = Math.min(next, this.#checkSlot(slot, now))
    if (next === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(() => this.check(), Math.max(0, Math.min(next - now, NOT_ARMED - 1)) + 1)
    Atomics.store(records.words, Word.ARMED, Math.min(Math.floor(next - records.times[Time.BASE]!), NOT_ARMED))
  }

  /** Returns when the slot's next deadline is due. */
  #checkSlot(slot: number, now: number): number {
    const { records, cancelGrace } = this.#watch
    const delivery = records.deliveryIn(slot)
    if (delivery === 0) return Number.POSITIVE_INFINITY
    const at = records.timesOf(slot)
    const softAt = records.times[at + SlotTime.SOFT_AT]!
    const hardAt = records.times[at + SlotTime.HARD_AT]!
    const softLimit = records.times[at + SlotTime.SOFT_LIMIT]!
    const blocked = records.blocked(now) - records.times[at + SlotTime.BLOCKED_BEFORE]!
    // The slot changed hands while its record was read: the new job's own message or look follows.
    if (records.deliveryIn(slot) !== delivery) return now
    if (softAt === 0 && hardAt === 0) return Number.POSITIVE_INFINITY

    const told = this.#told[slot]!
    if (told.delivery !== delivery) Object.assign(told, { delivery, soft: softAt === 0, hard: false })
    const endAt = (hardAt === 0 ? softAt + SOFT_TO_END * cancelGrace : hardAt) + blocked
    if (!told.hard && now >= endAt) {
      told.hard = true
      told.soft = true
      this.#watch.killProcess(LimitStage.HARD, delivery)
    }
    if (!told.soft && now >= softAt + blocked) {
      told.soft = true
      this.#softLimit(delivery, softLimit)
    }
    if (told.hard) return Number.POSITIVE_INFINITY
    return told.soft ? endAt : Math.min(softAt + blocked, endAt)
  }

  #softLimit(delivery: number, limit: number): void {
    const { main, lifeline } = this.#watch
    const turn = main.soft(delivery, limit)
    lifeline.limit(LimitStage.SOFT, delivery, 0, '')
    new Interruption(this.#watch, delivery, 'soft', turn)
  }
}
